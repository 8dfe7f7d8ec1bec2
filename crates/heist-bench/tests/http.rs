//! Runs the HTTP cases of `heist-bench runtime` as a user would: the program starts the servers as
//! processes itself.

use std::process::Command;

#[test]
fn both_servers_are_loaded_and_measured_by_their_own_cpu_time() {
    let folder = tempfile::tempdir().expect("a folder for the results");
    let results = folder.path().join("results.json");
    let output = Command::new(env!("CARGO_BIN_EXE_heist-bench"))
        .args(["runtime", "--quick", "--runs", "1", "--case", "http_1-2", "--case", "http_32-2"])
        .arg("--json")
        .arg(&results)
        .output()
        .expect("the benchmark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let json = std::fs::read(&results).expect("the results are written");
    let rows: serde_json::Value = serde_json::from_slice(&json).expect("they are JSON");
    let rows = rows.as_array().expect("of rows");
    let named = |name: &str| {
        let row = rows.iter().find(|row| row["case"] == name);
        let row = row.unwrap_or_else(|| panic!("no {name} in {rows:?}"));
        assert_eq!(row["peer"], "tokio", "{name}");
        [&row["ours"], &row["theirs"]].map(|value| value.as_f64().expect("a number"))
    };
    for connections in [1, 32] {
        let per_cpu_second = named(&format!("http_{connections}_cpu-2"));
        let per_second = named(&format!("http_{connections}_rate-2"));
        for (per_cpu_second, per_second) in per_cpu_second.into_iter().zip(per_second) {
            assert!(per_second > 0.0, "{connections} connections: no answers");
            // A server that answers uses some CPU time, but at most that of all its threads.
            let cpus = per_second / per_cpu_second;
            assert!(cpus > 0.0 && cpus < 16.0, "{connections} connections: {cpus} CPUs");
        }
    }
}
