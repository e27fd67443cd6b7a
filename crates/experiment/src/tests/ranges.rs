//! Ranges, sampled ranges, and the tables that say how a sweep decides.

use super::super::Document;
use proptest::prelude::*;

fn text(top: &str, flow: &str) -> String {
    format!(
        "{top}\n[path]\npreset = \"dumbbell\"\nrtt = \"70 ms\"\nbottleneck = {{ type = \"ds3\" }}\nedge = {{ type = \"fddi\" }}\n\
         [[flow]]\n{flow}\n[measure]\nduration = \"60 s\"\n"
    )
}

fn document(top: &str, flow: &str) -> Document {
    Document::parse(&text(top, flow), "range.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn labels(flow: &str) -> Vec<String> {
    document("", flow).axes().next().unwrap().labels.clone()
}

fn fault(top: &str, flow: &str) -> String {
    Document::parse(&text(top, flow), "range.toml").unwrap_err().to_string()
}

#[test]
fn a_range_is_a_sweep() {
    let window = |rest: &str| labels(&format!("window = {{ between = [\"64 KiB\", \"1 MiB\"], {rest} }}"));
    assert_eq!(window("points = 5, scale = \"log\""), ["64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB"]);
    assert_eq!(window("ratio = 4"), ["64 KiB", "256 KiB", "1 MiB"]);
    // The last step is the rest: 64, 192, 576, 1024 in steps of equal ratio under 3.
    assert_eq!(window("ratio = 3").len(), 4);
    assert_eq!(window("points = 3"), ["64 KiB", "544 KiB", "1 MiB"]);
    assert_eq!(labels("count = { between = [1, 4], points = 100 }"), ["1", "2", "3", "4"]);
    assert_eq!(
        labels("start = { between = [\"0 s\", \"1 s\"], points = 4 }"),
        ["0 s", "333.3 ms", "666.7 ms", "1 s"],
        "between the ends four digits are enough"
    );
    let limit = |ends: &str| {
        let queue = format!("type = \"ds3\", queue = {{ kind = \"droptail\", limit = {{ between = {ends}, points = 3 }} }}");
        let d = Document::parse(&text("", "count = 1").replace("type = \"ds3\"", &queue), "f").unwrap_or_else(|e| panic!("{e}"));
        d.axes().next().unwrap().labels.clone()
    };
    assert_eq!(limit("[\"10 packets\", \"15 packets\"]"), ["10 packets", "13 packets", "15 packets"]);
    assert_eq!(limit("[\"1 bdp\", \"2 bdp\"]"), ["1 bdp", "1.5 bdp", "2 bdp"]);
    let share = "congestion_control = { kind = \"aimd\", b = { between = [0.01, 0.9], points = 3, scale = \"log\" } }";
    assert_eq!(labels(share), ["0.01", "0.09487", "0.9"]);
}

#[test]
fn sampled_ranges_advance_together() {
    let flow = |sample: &str| {
        format!(
            "count = {{ between = [1, 3], points = 16, sample = \"{sample}\" }}\n\
             window = {{ between = [\"1 KiB\", \"1 MiB\"], points = 16, sample = \"{sample}\", scale = \"log\" }}"
        )
    };
    for sample in ["random", "latin", "sobol"] {
        let d = document("", &flow(sample));
        assert_eq!(d.run_count(), 16);
        assert_eq!(d.axes().map(|axis| axis.name.clone()).collect::<Vec<_>>(), ["count", "window"]);
        // Another seed, other points; another range before it, the same.
        let windows = |top: &str, flow: &str| document(top, flow).axes().last().unwrap().labels.clone();
        assert_ne!(windows("", &flow(sample)), windows("seed = 2", &flow(sample)));
        if sample != "sobol" {
            let alone = flow(sample).lines().last().unwrap().to_owned();
            assert_eq!(windows("", &flow(sample)), windows("", &alone));
        }
    }
}

/// In each dimension a latin square has one point in each slice, and so has a scrambled Sobol sequence of 2^n points.
#[test]
fn samples_are_spread() {
    for sample in ["latin", "sobol"] {
        for axis in [0, 1] {
            let d = document(
                "",
                &format!(
                    "start = {{ between = [\"0 s\", \"16 s\"], points = 16, sample = \"{sample}\" }}\n\
                     user_timeout = {{ between = [\"0 s\", \"16 s\"], points = 16, sample = \"{sample}\" }}"
                ),
            );
            let seconds = |label: &String| longfat_core::units::text::TIME.parse(label).unwrap() / 1_000_000_000_000;
            let mut slices: Vec<u64> = d.axes().nth(axis).unwrap().labels.iter().map(seconds).collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..16).collect::<Vec<_>>(), "{sample}");
        }
    }
}

#[test]
fn a_quick_form_has_ranges_of_its_own() {
    let d = document("", "window = { between = [\"64 KiB\", \"1 MiB\"], points = 9 }");
    let short = format!("{}[quick]\n\"flow.window\" = {{ between = [\"1 KiB\", \"4 KiB\"], points = 2 }}\n", d.text());
    let quick = Document::parse(&short, "f").unwrap().quick().unwrap().unwrap();
    assert_eq!(quick.axes().next().unwrap().labels, ["1 KiB", "4 KiB"]);
    // The printed text reads back as the same runs.
    let again = Document::parse(&quick.text(), "f").unwrap();
    assert_eq!(again.run(1).unwrap().hash, quick.run(1).unwrap().hash);
}

#[test]
fn what_decides_is_read() {
    let top = "repeats = 50\nprecision = { metric = \"jain\", within = 0.02 }\nsearch = { axis = \"window\", metric = \"bottleneck_utilization\", at_least = 0.98 }";
    let metrics: Vec<&str> = longfat_record::metric::REGISTRY.iter().map(|metric| metric.name).collect();
    let top = &top.replace("jain", metrics[0]).replace("bottleneck_utilization", metrics[1]);
    let d = document(top, "count = { sweep = [1, 2] }\nwindow = { between = [\"1 KiB\", \"1 MiB\"], ratio = 2 }");
    let precision = d.precision().unwrap();
    assert_eq!((precision.metric, precision.within, precision.relative, precision.least), (metrics[0], 0.02, true, 3));
    let search = d.search().unwrap();
    assert_eq!((search.axis, search.metric, search.bound, search.is_floor), (1, metrics[1], 0.98, true));
    assert_eq!(d.run_count(), 2 * 11 * 50);
    assert_eq!((d.choice(0), d.choice(12)), (vec![0, 0], vec![1, 1]));
    // The change leaves every run as it is.
    let plain = document("repeats = 50", "count = { sweep = [1, 2] }\nwindow = { between = [\"1 KiB\", \"1 MiB\"], ratio = 2 }");
    assert_eq!(d.run(77).unwrap().hash, plain.run(77).unwrap().hash);
}

#[test]
fn what_is_wrong_with_a_range_is_said() {
    let window = |range: &str| fault("", &format!("window = {{ {range} }}"));
    for (range, said) in [
        ("between = [\"1 KiB\"], points = 3", "between two numbers of one kind"),
        ("between = [\"2 KiB\", \"1 KiB\"], points = 3", "the smaller first"),
        ("between = [\"1 KiB\", \"1 s\"], points = 3", "of one kind"),
        ("between = [\"1 KiB\", \"2 KiB\"]", "its `points` or its `ratio`"),
        ("between = [\"1 KiB\", \"2 KiB\"], points = 1", "2 to 65536"),
        ("between = [\"1 KiB\", \"2 KiB\"], ratio = 1", "over 1"),
        ("between = [\"1 KiB\", \"2 KiB\"], ratio = 2, scale = \"linear\"", "scale \"log\""),
        ("between = [\"0 bytes\", \"2 KiB\"], points = 3, scale = \"log\"", "above zero"),
        ("between = [\"1 KiB\", \"2 KiB\"], points = 3, scael = \"log\"", "did you mean `scale`"),
        ("between = [\"1 KiB\", \"2 KiB\"], points = 3, sample = \"halton\"", "random or latin or sobol"),
        ("between = [\"1 KiB\", \"2 KiB\"], points = 3, sample = \"sobol\", zip = \"z\"", "without a `zip`"),
        ("between = [\"1 KiB\", \"2 s\"], points = 3", "of one kind"),
    ] {
        assert!(window(range).contains(said), "{range}:\n{}", window(range));
    }
    let two = "window = { between = [\"1 KiB\", \"2 KiB\"], points = 4, sample = \"sobol\" }\ncount = { between = [1, 9], points = 5, sample = \"sobol\" }";
    assert!(fault("", two).contains("the same `sample` and `points`"));
    // A value that its key does not take is said with the value.
    assert!(fault("", "window = { between = [\"0 bytes\", \"1 KiB\"], points = 3 }").contains("0 bytes"));
}

#[test]
fn what_is_wrong_with_a_decision_is_said() {
    let window = "window = { sweep = [\"1 KiB\", \"1 MiB\"] }";
    let metric = longfat_record::metric::REGISTRY[0].name;
    for (top, said) in [
        (format!("precision = {{ metric = \"{metric}\", within = 0.1 }}"), "`repeats` is the most"),
        ("repeats = 9\nprecision = { metric = \"speed\", within = 0.1 }".to_owned(), "one of"),
        (format!("search = {{ axis = \"windo\", metric = \"{metric}\", at_least = 1 }}"), "did you mean `window`"),
        (format!("search = {{ axis = \"window\", metric = \"{metric}\" }}"), "at_least = NUMBER"),
        (format!("search = {{ axis = \"window\", metric = \"{metric}\", at_least = 1, at_most = 2 }}"), "one bound"),
    ] {
        assert!(fault(&top, window).contains(said), "{top}:\n{}", fault(&top, window));
    }
}

proptest! {
    /// Whatever the ends, the values rise from one to the other, and each is one that reads back.
    #[test]
    fn values_rise_from_end_to_end(from in 1_u64..1_000_000, times in 2_u64..100_000, points in 2_usize..60, is_log: bool) {
        let to = from * times;
        let scale = if is_log { "log" } else { "linear" };
        let d = document("", &format!("user_timeout = {{ between = [\"{from} us\", \"{to} us\"], points = {points}, scale = \"{scale}\" }}"));
        let axis = d.axes().next().unwrap();
        let values: Vec<u64> = axis.labels.iter().map(|label| longfat_core::units::text::TIME.parse(label).unwrap()).collect();
        prop_assert!(values.is_sorted_by(|a, b| a < b), "{:?}", axis.labels);
        prop_assert_eq!((values[0], *values.last().unwrap()), (from * 1_000_000, to * 1_000_000));
    }
}
