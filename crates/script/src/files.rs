//! Text files that a user names: scripts, and files that they include.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest text that is read: 32 MiB.
const MOST_BYTES: u64 = 32 << 20;

/// The text of the file at `path`.
///
/// # Errors
/// An error if there is no such file, if it is no text, is longer than 32 MiB, or is not a regular file: a pipe may never answer, and a
/// device never end.
pub fn read_text(path: &Path) -> io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // The system may report a wrong size of the file.
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is longer than 32 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn why(path: &str) -> String {
        read_text(Path::new(path)).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_of_text_are_read() {
        let folder = std::env::temp_dir().join(format!("longfat-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("text");
        fs::write(&file, "grüß dich").unwrap();
        assert_eq!(read_text(&file).unwrap(), "grüß dich");
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert_eq!(read_text(&file).unwrap_err().to_string(), "it is not text in UTF-8");
        File::create(&file).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(read_text(&file).unwrap_err().to_string(), "it is longer than 32 MiB");
        assert_eq!(why("/dev/zero"), "it is not a regular file");
        assert_eq!(why(folder.to_str().unwrap()), "it is not a regular file");
        fs::remove_dir_all(&folder).unwrap();
        assert!(why(folder.to_str().unwrap()).contains("No such file"));
    }
}
