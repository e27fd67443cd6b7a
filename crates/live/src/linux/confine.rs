//! A server confines itself by Landlock (landlock(7)): it reads a few paths, writes no file, opens no TCP connection and no further TCP port.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

/// Version of Landlock with all that is asked for: Linux 6.12.
const WANTED: ABI = ABI::V6;
/// Paths that every server reads: settings and counters of the kernel, network cards and memory nodes, and random numbers. Landlock keeps the memory and environment of other
/// processes from it.
const READ: [&str; 4] = ["/proc", "/sys/class/net", "/sys/devices", "/dev/urandom"];

/// Confines this thread, and the threads that it starts, to reading `readable` and [`READ`]; a sentence on what the kernel does not hold it to.
pub(crate) fn confine(readable: &[PathBuf]) -> Option<String> {
    match restrict(readable) {
        Ok(RestrictionStatus { ruleset: RulesetStatus::FullyEnforced, .. }) => None,
        Ok(RestrictionStatus { ruleset: RulesetStatus::PartiallyEnforced, .. }) => {
            Some("This kernel's Landlock is older than Linux 6.12: it confines the server in part.".to_owned())
        }
        Ok(_) => Some("This kernel has no Landlock: the server may read and write what its user may.".to_owned()),
        Err(e) => Some(format!("Landlock could not be set ({e}): the server may read and write what its user may.")),
    }
}

fn restrict(readable: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
    let paths = READ.iter().map(PathBuf::from).chain(readable.iter().cloned());
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?
        // A path that is not there is left out.
        .add_rules(path_beneath_rules(paths, AccessFs::ReadFile | AccessFs::ReadDir))?
        .restrict_self()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::ErrorKind::PermissionDenied;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::thread;

    use super::*;

    /// Confines a thread of its own, so that other tests are free; what the server does later is done by threads that a confined thread starts.
    #[test]
    fn a_confined_thread_reads_little_and_connects_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, other) = (folder.path().join("mine"), folder.path().join("other"));
        fs::write(&mine, "read me").unwrap();
        fs::write(&other, "a secret").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let run = move || {
            let missing = confine(&[mine.clone(), folder.path().join("nosuch")]);
            let later = move || {
                let denied = [
                    File::open(&other).map(drop),
                    fs::write(&mine, "changed"),
                    fs::write(folder.path().join("new"), ""),
                    fs::remove_file(&mine),
                    TcpStream::connect(to).map(drop),
                    TcpListener::bind("127.0.0.1:0").map(drop),
                ];
                let allowed = [
                    File::open(&mine).map(drop),
                    File::open("/proc/sys/kernel/osrelease").map(drop),
                    File::open("/proc/thread-self/schedstat").map(drop),
                    File::open("/dev/urandom").map(drop),
                    UdpSocket::bind("127.0.0.1:0").map(drop),
                ];
                (denied.map(|one| one.map_err(|e| e.kind())), allowed.map(|one| one.map_err(|e| e.kind())))
            };
            (missing, thread::spawn(later).join().unwrap())
        };
        let (missing, (denied, allowed)) = thread::spawn(run).join().unwrap();
        assert_eq!(allowed, [Ok(()); 5]);
        match missing {
            None => assert_eq!(denied, [Err(PermissionDenied); 6]),
            Some(said) => eprintln!("this kernel cannot show it all: {said}"),
        }
        assert!(TcpStream::connect(to).is_ok(), "other threads are as free as before");
    }
}
