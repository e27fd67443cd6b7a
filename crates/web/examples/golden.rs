//! Prints the golden runs, `{name: text}`, for the test that runs them in WebAssembly.

fn main() {
    let runs = longfat_sim::conformance::golden::experiments().into_iter().map(|(name, text)| (name, text.into()));
    println!("{}", serde_json::Value::Object(runs.collect()));
}
