//! One testbed at a time: two would share cores, and neither could be trusted.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::AccessFlags;

use crate::Error;

/// Where a run notes what outlives it if it is killed, so that the next one can put it back: what the system has for that, or the user.
pub fn folder() -> PathBuf {
    let of_user = || match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => PathBuf::from(folder).join("longfat"),
        None => std::env::temp_dir().join(format!("longfat-{}", nix::unistd::getuid())),
    };
    let of_system = PathBuf::from("/run/longfat");
    let is_ours = fs::create_dir_all(&of_system).is_ok() && nix::unistd::access(&of_system, AccessFlags::W_OK).is_ok();
    if is_ours { of_system } else { of_user() }
}
const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
/// Packets between the emulator and the core that takes them in, however long that is busy.
const BACKLOG_MAX: u64 = 100_000;

/// The right to run. The kernel takes it back when the process ends, however that happens.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
    backlog: Option<String>,
}

impl Lock {
    /// Takes it, and raises what the whole machine shares: the input backlog. What a run before this one raised and could not put back,
    /// since it was killed, is put back first.
    pub fn take() -> Result<Self, Error> {
        let folder = folder();
        let failed = |e| Error::system(&format!("{} cannot be used for the lock of the testbed", folder.display()), e);
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("testbed.lock")).map_err(failed)?;
        let mut holder = String::new();
        file.read_to_string(&mut holder).map_err(failed)?;
        let mut file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| Error::Busy { pid: holder.trim().to_owned() })?;
        file.rewind().and_then(|()| file.set_len(0)).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        restore();
        let backlog = fs::read_to_string(BACKLOG).ok().filter(|text| text.trim().parse().is_ok_and(|now: u64| now < BACKLOG_MAX));
        if let Some(before) = &backlog {
            fs::write(folder.join("netdev_max_backlog"), before).map_err(failed)?;
            // Without the right to raise it, the verdict counts what it drops.
            let _ = fs::write(BACKLOG, BACKLOG_MAX.to_string());
        }
        Ok(Lock { _file: file, backlog })
    }
}

/// Puts back what was raised.
fn restore() {
    let kept = folder().join("netdev_max_backlog");
    if let Ok(before) = fs::read_to_string(&kept) {
        let _ = fs::write(BACKLOG, before.trim());
        let _ = fs::remove_file(kept);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.backlog.is_some() {
            restore();
        }
    }
}
