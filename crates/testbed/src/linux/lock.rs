//! One testbed at a time: two would share cores, and neither could be trusted.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use crate::Error;
use crate::linux::acks;

/// What a run notes there outlives it if it is killed, and tells the next one what to put back.
pub const FOLDER: &str = "/run/longfat";
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
        let folder = Path::new(FOLDER);
        let failed = |e| Error::system(&format!("{FOLDER} cannot be used for the lock of the testbed"), e);
        fs::create_dir_all(folder).map_err(failed)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("testbed.lock")).map_err(failed)?;
        let mut holder = String::new();
        file.read_to_string(&mut holder).map_err(failed)?;
        let mut file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| Error::Busy { pid: holder.trim().to_owned() })?;
        file.rewind().and_then(|()| file.set_len(0)).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        restore();
        acks::remove_left();
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
    let kept = Path::new(FOLDER).join("netdev_max_backlog");
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
