//! One testbed at a time: two would share cores, and neither could be trusted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::AccessFlags;

use crate::Error;

/// Returns the folder in which a run notes everything that outlives it if it is killed, so that the next run can remove it: the system's
/// folder for that, or the user's.
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

/// Times 20 ms: how long it waits for the lock.
const PATIENCE: u32 = 25;

/// Waits for the end of its input, which comes when the run ends, however it does, and puts back what the run raised.
const PUT_BACK: &str = "read -r _; cat \"$1\" > \"$2\"; rm -f \"$1\"";

/// The right to run. The kernel takes it back when the process ends, however that happens.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
    /// Puts the input backlog back as soon as this process is gone, where the run raised it. It holds the lock until it has.
    keeper: Option<Child>,
}

impl Lock {
    /// Takes it, and raises what the whole machine shares: the input backlog. What a run before this one raised and could not put back,
    /// since it was killed with its keeper, is put back first.
    pub fn take() -> Result<Self, Error> {
        let folder = folder();
        let failed = |e| Error::system(&format!("{} cannot be used for the lock of the testbed", folder.display()), e);
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("testbed.lock")).map_err(failed)?;
        let mut holder = String::new();
        file.read_to_string(&mut holder).map_err(failed)?;
        let mut file = patiently(file).map_err(|_| Error::Busy { pid: holder.trim().to_owned() })?;
        file.rewind().and_then(|()| file.set_len(0)).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        restore();
        let before = fs::read_to_string(BACKLOG).ok().filter(|text| text.trim().parse().is_ok_and(|now: u64| now < BACKLOG_MAX));
        let keeper = before.map(|before| raise(&before, &file)).transpose().map_err(failed)?.flatten();
        Ok(Lock { _file: file, keeper })
    }
}

/// Locks the file. The keeper of a run that was killed has it for a few milliseconds more.
fn patiently(mut file: File) -> Result<Flock<File>, File> {
    for _ in 0..PATIENCE {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((back, _)) => file = back,
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err(file)
}

/// Raises the backlog, which was `before`, and starts who puts it back. Without the right to raise it, the verdict counts what it drops.
fn raise(before: &str, lock: &File) -> io::Result<Option<Child>> {
    let kept = kept();
    fs::write(&kept, before)?;
    if fs::write(BACKLOG, BACKLOG_MAX.to_string()).is_err() {
        fs::remove_file(kept)?;
        return Ok(None);
    }
    let mut keeper = Command::new("/bin/sh");
    // The keeper has a group of its own, so it survives a kill of this process's group.
    keeper.args(["-c", PUT_BACK, "longfat-testbed"]).args([kept.as_os_str(), BACKLOG.as_ref()]).process_group(0);
    let started = keeper.stdin(Stdio::piped()).stdout(lock.try_clone()?).stderr(Stdio::null()).spawn();
    started.inspect_err(|_| restore()).map(Some)
}

fn kept() -> PathBuf {
    folder().join("netdev_max_backlog")
}

/// Restores the settings that were raised.
fn restore() {
    if let Ok(before) = fs::read_to_string(kept()) {
        let _ = fs::write(BACKLOG, before.trim());
        let _ = fs::remove_file(kept());
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
            restore();
        }
    }
}
