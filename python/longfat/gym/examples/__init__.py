"""A worked example: a policy trained by an evolution strategy, and the control that it became."""
