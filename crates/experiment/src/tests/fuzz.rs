//! No text makes the parser panic: it is an experiment, or there is an error with a line of the file.

use super::super::Document;
use super::super::identity::hexadecimal;
use super::ready::FILES;
use proptest::prelude::*;

/// Parses `text`, resolves some of its runs, and reads them back.
fn check(text: &str) -> Result<(), TestCaseError> {
    let outcome = Document::parse(text, "fuzz.toml").and_then(|document| {
        let n = document.run_count();
        let numbers = [0, n / 3, n / 2, n - 1, 0];
        let runs = numbers.into_iter().map(|index| document.run(index)).collect::<Result<Vec<_>, _>>();
        // Runs planned together are equal to runs resolved one by one, and have the same faults.
        match (&runs, document.plan(numbers)) {
            (Ok(runs), Ok(plan)) => {
                assert!(runs.iter().zip(&plan.hashes).all(|(run, hash)| run.hash == hexadecimal(hash)), "{text}");
                assert!(runs.iter().zip(&plan.seeds).all(|(run, seed)| run.experiment.seed == *seed), "{text}");
            }
            (Err(error), Err(planned)) => assert_eq!(error.to_string(), planned.to_string(), "{text}"),
            _ => panic!("either can be planned, and not the other: {text}"),
        }
        runs
    });
    for run in outcome.iter().flatten() {
        let again = Document::parse(&run.to_toml(), "resolved.toml").and_then(|d| d.run(0));
        let again = again.map_err(|e| TestCaseError::fail(format!("{e}\n{}", run.to_toml())))?;
        prop_assert_eq!(&again.resolved, &run.resolved);
        prop_assert_eq!(&again.hash, &run.hash);
    }
    if let Err(error) = outcome {
        let lines = text.split('\n').count();
        prop_assert!((1..=lines).contains(&error.line), "line {} of {lines}: {error}", error.line);
        let line = text.split('\n').nth(error.line - 1).unwrap().trim_end_matches('\r');
        prop_assert_eq!(&error.source_line, line);
        prop_assert!(error.column >= 1 && error.column <= line.chars().count() + 1);
        prop_assert!(!error.message.is_empty() && !error.to_string().is_empty());
    }
    Ok(())
}

/// Words that mean something, so that random files get deep.
const WORDS: &[&str] = &[
    "title",
    "seed",
    "repeats",
    "path",
    "preset",
    "\"dumbbell\"",
    "\"chain\"",
    "\"parking_lot\"",
    "rtt",
    "pairs",
    "bottleneck",
    "edge",
    "hops",
    "hosts",
    "routers",
    "link",
    "from",
    "to",
    "type",
    "\"ds3\"",
    "\"plain\"",
    "rate",
    "delay",
    "mtu",
    "overhead",
    "min_frame",
    "queue",
    "kind",
    "\"droptail\"",
    "\"red\"",
    "\"buffer_pool\"",
    "limit",
    "loss",
    "reverse",
    "flow",
    "name",
    "count",
    "start",
    "stagger",
    "stack",
    "window",
    "mss",
    "traffic",
    "host",
    "\"ttcp\"",
    "volume",
    "receiver",
    "measure",
    "duration",
    "warmup",
    "interval",
    "events",
    "sweep",
    "zip",
    "label",
    "value",
    "skip",
    "true",
    "0",
    "1",
    "-1",
    "99999999999",
    "1e400",
    "nan",
    "1979-05-27",
    "\"1 s\"",
    "\"70 ms\"",
    "\"100 Tbit/s\"",
    "\"1 bit/s\"",
    "\"1 GiB\"",
    "\"1 byte\"",
    "\"0.0001 bdp\"",
    "\"1000 s\"",
    "\"\"",
    "\"µ\"",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "=",
    "=",
    "=",
    ",",
    ",",
    "\n",
    "\n",
    "\n",
    ".",
    "\"",
    "#",
    "\u{feff}",
    "é",
    "\t",
    "\r\n",
];

/// Returns the places where a file may be cut: the starts of its words and quantities.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let class = |c: char| if c.is_alphanumeric() || "_-\"./".contains(c) { 0 } else { 1 + c as u32 };
        let end = rest.find(|d| class(d) != class(c)).unwrap_or(rest.len());
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn words_in_any_order(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        check(&words.join(" "))?;
    }

    #[test]
    fn ready_files_with_words_exchanged(
        file in prop::sample::select(FILES),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(WORDS), 0..4), 1..4),
    ) {
        let mut tokens = tokens(file.1);
        for (at, word, how) in changes {
            let at = at.index(tokens.len());
            match how {
                0 => tokens[at] = word,
                1 => tokens.insert(at, word),
                2 => { tokens.remove(at); }
                _ => {
                    let other = tokens[(at * 7 + 3) % tokens.len()];
                    tokens[at] = other;
                }
            }
        }
        check(&tokens.concat())?;
    }

    #[test]
    fn ready_files_with_other_quantities(
        file in prop::sample::select(FILES),
        at in any::<prop::sample::Index>(),
        quantity in "(0|1|7|1500|99999999999999999999|0\\.001)( (ps|ms|s|h|bytes|KiB|GiB|bit/s|Gbit/s|Tbit/s|packets|bdp|segments|buffers))?",
    ) {
        // Every second piece between quotation marks is a string.
        let mut pieces: Vec<&str> = file.1.split('"').collect();
        let strings = pieces.len() / 2;
        pieces[at.index(strings) * 2 + 1] = &quantity;
        check(&pieces.join("\""))?;
    }
}

/// Checks texts that failed once, or might.
#[test]
fn hard_texts() {
    let deep = "a = ".to_owned() + &"[".repeat(100_000);
    let long = "x".repeat(1_000_000);
    for text in
        ["", "\n", "\u{feff}", "=", "[", "\"", "a = \"\u{0}\"", "[[flow]]\n[flow]", "\r\n\r\n[", "é = ", "a.b.c.d = 1", &deep, &long]
    {
        check(text).unwrap();
    }
}
