//! Keys of this user: files of mode 0600 in `$XDG_CONFIG_HOME/longfat/keys`, by default `~/.config/longfat/keys`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::protocol::Key;

/// Returns bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map(|()| bytes).map_err(|e| Error::system("no random bytes from /dev/urandom", e))
}

/// Returns the folder of the keys (XDG Base Directory Specification, version 0.8).
///
/// # Errors
/// A user without a home folder.
pub fn folder() -> Result<PathBuf, Error> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    config.map(|config| config.join("longfat/keys")).ok_or_else(|| Error::Key("no folder for keys: set HOME or XDG_CONFIG_HOME".to_owned()))
}

/// Makes a key called `name`; its file, and the text that goes to the other host.
///
/// # Errors
/// A name that is none or is taken, and refusals of the system.
pub fn make(name: &str) -> Result<(PathBuf, String), Error> {
    let text = Key::new(random()?).to_text();
    let path = write(&folder()?, name, &text)?;
    Ok((path, text))
}

/// Keeps the key `text` of another host under `name`; its file.
///
/// # Errors
/// Text that is no key, and as [`make`].
pub fn keep(name: &str, text: &str) -> Result<PathBuf, Error> {
    let key = Key::parse(text).map_err(|fault| Error::Key(fault.0))?;
    write(&folder()?, name, &key.to_text())
}

/// Reads the key called `name`.
///
/// # Errors
/// A key that is not there, is none, or that others may read.
pub fn load(name: &str) -> Result<Key, Error> {
    read(&folder()?, name)
}

fn path_of(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if (1..=64).contains(&name.len()) && is_plain && !name.starts_with('.') {
        return Ok(folder.join(name));
    }
    Err(Error::Key(format!("{name:?} is no name of a key: use up to 64 letters, digits, `_`, `-` and `.`")))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = path_of(folder, name)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| Error::system(format!("the folder {} cannot be made", folder.display()), e))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            Error::Key(format!("there is a key `{name}` already: {}. Choose another name, or remove that file", path.display()))
        }
        _ => Error::system(format!("{} cannot be written", path.display()), e),
    })?;
    file.write_all(format!("{text}\n").as_bytes()).map_err(|e| Error::system(format!("{} cannot be written", path.display()), e))?;
    Ok(path)
}

fn read(folder: &Path, name: &str) -> Result<Key, Error> {
    let path = path_of(folder, name)?;
    let of = |e: std::io::Error| match e.kind() {
        ErrorKind::NotFound => Error::Key(format!(
            "there is no key `{name}` in {}: make one with `longfat key new {name}`, or keep the other host's with `longfat key add {name}`",
            folder.display()
        )),
        _ => Error::system(format!("{} cannot be read", path.display()), e),
    };
    let mode = fs::metadata(&path).map_err(of)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Error::Key(format!(
            "others may read {} (mode {mode:03o}): run `chmod 600` on it, and make a new key if they have",
            path.display()
        )));
    }
    let text = fs::read_to_string(&path).map_err(of)?;
    Key::parse(&text).map_err(|fault| Error::Key(format!("{}: {}", path.display(), fault.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_a_file_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("longfat/keys");
        let text = Key::new(random().unwrap()).to_text();
        let path = write(&folder, "dtn", &text).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&folder, "dtn").unwrap().to_text(), text);
        assert!(write(&folder, "dtn", &text).unwrap_err().to_string().contains("already"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let said = read(&folder, "dtn").unwrap_err().to_string();
        assert!(said.contains("chmod 600") && !said.contains(&text[20..30]), "{said}");
        assert!(read(&folder, "other").unwrap_err().to_string().contains("longfat key new other"));
        for name in ["", "../x", "a/b", ".hidden", &"x".repeat(65)] {
            assert!(path_of(&folder, name).is_err(), "{name}");
        }
    }
}
