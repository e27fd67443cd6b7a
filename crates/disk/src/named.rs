//! Files that experiments name.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{self, Path};
use std::time::UNIX_EPOCH;

use longfat_core::units::text::SIZE;
use longfat_experiment::Files;
use longfat_script::read_text;

/// A longer trace is refused: traces stay in memory. 10^7 lines take a tenth of this.
const LONGEST: u64 = 1 << 30;

/// The file system. Paths that are not absolute begin in the working directory.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl Files for Disk {
    fn text(&self, name: &str) -> Result<String, String> {
        read_text(Path::new(name)).map_err(|e| e.to_string())
    }

    fn trace(&self, name: &str) -> Result<Vec<u8>, String> {
        let cannot = |why: io::Error| format!("cannot read {name}: {why}");
        let length = fs::metadata(name).map_err(cannot)?.len();
        if length > LONGEST {
            return Err(format!("{name} has {}, and at most {} are read", SIZE.format(length), SIZE.format(LONGEST)));
        }
        let mut bytes = Vec::new();
        File::open(name).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(cannot)?;
        Ok(bytes)
    }

    /// Length and time of the last write.
    fn state(&self, name: &str) -> Option<u128> {
        let meta = fs::metadata(name).ok()?;
        let written = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(u128::from(meta.len()) << 64 | written.as_nanos())
    }

    /// The absolute path: results are read wherever they are.
    fn lasting(&self, name: &str) -> String {
        path::absolute(name).map_or_else(|_| name.to_owned(), |path| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_experiment::{Document, restore};
    use std::sync::Arc;

    fn text(trace: &str) -> String {
        format!(
            "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate_trace = {{ kind = \"mahimahi\", file = \"{trace}\" }} }}\n\
             edge = {{ rate = \"1 Gbit/s\" }}\n[[flow]]\nwindow = \"64 KiB\"\n[measure]\nduration = \"1 s\"\n"
        )
    }

    /// A trace is found from where the experiment is, known by its content, and read anew where it has changed.
    #[test]
    fn traces_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("experiment.toml").display().to_string();
        let write = |text: &str| fs::write(folder.path().join("cell.trace"), text).unwrap();
        let read = |trace: &str| {
            let document = Document::parse_with(&text(trace), &name, Arc::new(Disk));
            document.and_then(|document| document.run(0)).map_err(|e| e.to_string().replace(&folder.path().display().to_string(), "FOLDER"))
        };
        write("1\n2\n2\n10\n");
        let run = read("cell.trace").unwrap();
        write("1\n2\n3\n");
        assert_ne!(read("cell.trace").unwrap().hash, run.hash);
        let gone = restore(&run.resolved, Arc::new(Disk)).unwrap();
        assert_eq!(gone.hash, run.hash, "results outlive their traces");
        assert!(!gone.experiment.network.links[0].rate_file.as_ref().unwrap().is_there);
        let error = read("nowhere").unwrap_err();
        assert!(error.contains("cannot read FOLDER/nowhere: No such file"), "{error}");
        // The file has no such size on the disk.
        File::create(folder.path().join("cell.trace")).and_then(|file| file.set_len(10_000_000_000)).unwrap();
        let error = read("cell.trace").unwrap_err();
        assert!(error.contains("FOLDER/cell.trace has 9765625 KiB, and at most 1 GiB are read"), "{error}");
    }
}
