"""Inequalities between numbers, which a claim is made of; `==` is for counts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from longfat.errors import LongfatError

Operator = Literal["<", "<=", ">", ">=", "=="]

OPERATORS: dict[Operator, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
COMPARISONS: dict[type[ast.cmpop], Operator] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}


@dataclass(frozen=True)
class Check:
    """One inequality between two measured numbers (or one and a bound the paper states)."""

    left: float
    op: Operator
    right: float
    unit: str = ""
    note: str = ""

    @property
    def holds(self) -> bool:
        """True if the inequality holds; NaN on either side does not."""
        return OPERATORS[self.op](self.left, self.right)

    def __str__(self) -> str:
        """The inequality with its numbers."""
        return f"{self.left:.4g} {self.op} {self.right:.4g}"


def checks(inequality: str, names: Mapping[str, Any], where: str) -> list[Check]:
    """The inequalities of a claim (`a < b ; c >= d`), their sides as Python finds them with `names`."""

    def value(side: ast.expr) -> float:
        return float(eval(compile(ast.Expression(side), where, "eval"), dict(names)))

    def check(part: str) -> Check:
        try:
            comparison = ast.parse(part, where, mode="eval").body
        except SyntaxError:
            comparison = None
        match comparison:
            case ast.Compare(left, [op], [right]) if type(op) in COMPARISONS:
                return Check(value(left), COMPARISONS[type(op)], value(right))
            case _:
                raise LongfatError(f"{where}: {part!r} is not one inequality")

    return [check(part) for part in inequality.split(" ; ")]
