//! Loads controls into the kernel and unloads them. A loaded control is a link of the kind `struct_ops`, pinned in the BPF filesystem, so
//! that it outlives the process that made it.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, OpenObject, PrintLevel};
use longfat_core::params::Params;
use nix::mount::{MsFlags, mount};

use crate::agent::METER;
use crate::{AGENT, Error, Order, Place, Step, Twin, find, knobs, list, privilege, settings};

/// Mount point of the BPF filesystem, which keeps loaded controls.
const BPFFS: &str = "/sys/fs/bpf";

/// Section of a program that holds its parameters, in the order of the core's.
const KNOBS: &str = ".rodata.knobs";

/// Registers the control `name` with the kernel, for the whole machine, with `changes` of its parameters, each as an experiment file would
/// write it. Returns its name there.
pub fn load(name: &str, changes: &[(String, String)]) -> Result<&'static str, Error> {
    let twin = find(name)?;
    let Registered { mut link, .. } = register(twin, &settings(twin, changes)?)?;
    mount_bpffs()?;
    fs::create_dir_all(folder()).map_err(|error| Error::failed(format!("make {}", folder().display()))(error.into()))?;
    // The control is unregistered at the end of this function, unless it is pinned.
    let pinned = link.pin(pin(twin)).map_err(|error| Error::failed(format!("load {}", twin.kernel_name))(error.into()));
    if pinned.is_err() {
        remove_folder();
    }
    pinned.map(|()| twin.kernel_name)
}

/// A control that is registered as long as this value lives. The end of the process unregisters it, too.
#[derive(Debug)]
pub struct Registered {
    link: Link,
    maps: Vec<MapHandle>,
}

/// The control that agents steer, registered as long as this value lives.
#[derive(Debug)]
pub struct Steered {
    _link: Link,
    orders: MapHandle,
    meters: MapHandle,
}

/// Compiled program of the control that agents steer.
static AGENT_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.bpf.o"));

/// Checks that `twin` may be registered here, and is not yet.
pub fn ready(twin: &Twin) -> Result<(), Error> {
    privilege::check()?;
    if is_loaded(twin) { Err(Error::Loaded(twin.kernel_name)) } else { Ok(()) }
}

/// Registers `twin` with the kernel, for the whole machine, with these parameters of its core.
pub fn register(twin: &Twin, params: &Params) -> Result<Registered, Error> {
    ready(twin)?;
    attach(twin.kernel_name, || open(twin, params))
}

/// Checks that [`steer`] may be called here, and nobody has yet.
pub fn ready_to_steer() -> Result<(), Error> {
    privilege::check()?;
    if list().iter().any(|one| one.name == AGENT) { Err(Error::Loaded(AGENT)) } else { Ok(()) }
}

/// Registers the control that agents steer with the kernel, for the whole machine.
pub fn steer() -> Result<Steered, Error> {
    ready_to_steer()?;
    let Registered { link, maps } = attach(AGENT, || ObjectBuilder::default().name(AGENT)?.open_memory(AGENT_OBJECT))?;
    let mut maps = maps.into_iter().filter(|map| map.map_type() == MapType::SkStorage);
    // In the order in which the program has them.
    let (Some(orders), Some(meters)) = (maps.next(), maps.next()) else { unreachable!("the program has two maps of sockets") };
    Ok(Steered { _link: link, orders, meters })
}

impl Steered {
    /// Begins to steer `socket`, which has the control and is not connected yet.
    pub fn begin(&self, socket: &impl AsFd, order: Order) -> Result<(), Error> {
        self.meters.update(&key(socket), &[0; METER], MapFlags::ANY).map_err(|error| Error::failed("steer a socket")(error.into()))?;
        self.order(socket, order)
    }

    /// Orders `socket`.
    pub fn order(&self, socket: &impl AsFd, order: Order) -> Result<(), Error> {
        self.orders.update(&key(socket), &order.bytes(), MapFlags::ANY).map_err(|error| Error::failed("steer a socket")(error.into()))
    }

    /// Returns the last step of `socket` if it comes after the one that the agent has `taken`. It stays until it is taken, too.
    pub fn step(&self, socket: &impl AsFd, taken: u64) -> Result<Option<Step>, Error> {
        let read = || {
            let found = self.meters.lookup(&key(socket), MapFlags::ANY).map_err(|error| Error::failed("read a meter")(error.into()))?;
            Ok(found.as_deref().and_then(Step::read).filter(|step| step.number > taken))
        };
        // The program may have been at it while the first was read, and writes its number last. The second is whole.
        if read()?.is_some() { read() } else { Ok(None) }
    }
}

/// Key of a socket in maps of sockets: its descriptor.
fn key(socket: &impl AsFd) -> [u8; 4] {
    socket.as_fd().as_raw_fd().to_ne_bytes()
}

/// Registers the control `name` of the program that `open` gives.
fn attach(name: &'static str, open: impl FnOnce() -> libbpf_rs::Result<OpenObject>) -> Result<Registered, Error> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
    let registered = open().and_then(OpenObject::load).and_then(|mut object| {
        let maps = object.maps().map(|map| MapHandle::try_from(&map)).collect::<libbpf_rs::Result<_>>()?;
        let mut ops = object.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("every program has its ops");
        Ok(Registered { link: ops.attach_struct_ops()?, maps })
    });
    libbpf_rs::set_print(None);
    registered.map_err(|error| {
        let said = last_words(&SAID.lock().unwrap_or_else(PoisonError::into_inner));
        Error::failed(format!("load {name}"))(format!("{error}{said}").into())
    })
}

/// Messages of libbpf since [`listen`] was set. They include the verifier's log of a program that the kernel refuses.
static SAID: Mutex<String> = Mutex::new(String::new());
/// Lines at the end of the log that are kept: they tell why, and the lines before are of no use.
const LAST: usize = 12;

fn listen(_level: PrintLevel, text: String) {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
}

/// Returns the end of the verifier's log in libbpf's messages, or else all messages, to end an error with; empty if there are none.
fn last_words(said: &str) -> String {
    let log = said.split_once("BEGIN PROG LOAD LOG").and_then(|(_, log)| log.split_once("END PROG LOAD LOG"));
    let (log, who) = log.map_or((said, "libbpf says"), |(log, _)| (log, "the verifier says"));
    let is_text = |line: &&str| line.chars().any(char::is_alphanumeric);
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(is_text).collect();
    let last = &lines[lines.len().saturating_sub(LAST)..];
    if last.is_empty() { String::new() } else { format!(". At the end {who}:\n    {}", last.join("\n    ")) }
}

/// Unregisters the control `name`. This is an error while connections use it, unless `force`: then no new connection can use it, and it
/// goes with the last one. Returns its name in the kernel.
pub fn unload(name: &str, force: bool) -> Result<&'static str, Error> {
    let twin = find(name)?;
    privilege::check()?;
    if !pin(twin).exists() {
        return Err(Error::NotLoaded(twin.kernel_name));
    }
    let failed = |error: libbpf_rs::Error| Error::failed(format!("unload {}", twin.kernel_name))(error.into());
    let link = Link::open(pin(twin)).map_err(failed)?;
    let users = users(&link).map_err(failed)?;
    if users > 0 && !force {
        return Err(Error::InUse { name: twin.kernel_name, users });
    }
    fs::remove_file(pin(twin)).map_err(|error| Error::failed(format!("remove {}", pin(twin).display()))(error.into()))?;
    remove_folder();
    Ok(twin.kernel_name)
}

/// Returns the folder that holds the pins of our controls while they are loaded.
fn folder() -> PathBuf {
    Path::new(BPFFS).join("longfat")
}

/// Returns the path of this control's pin.
fn pin(twin: &Twin) -> PathBuf {
    folder().join(twin.kernel_name)
}

fn is_loaded(twin: &Twin) -> bool {
    pin(twin).exists() || list().iter().any(|one| one.name == twin.kernel_name && one.place == Place::Loaded)
}

/// Returns the program, with its parameters, as it will be verified.
fn open(twin: &Twin, params: &Params) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().name(twin.kernel_name)?.open_memory(twin.object)?;
    let values: Vec<u8> = knobs(params).into_iter().flat_map(|(_, value)| value.to_ne_bytes()).collect();
    if let Some(mut section) = object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(KNOBS)) {
        section.set_initial_value(&values)?;
    }
    Ok(object)
}

/// Returns how many connections, and defaults of namespaces, use the control of `link`.
fn users(link: &Link) -> libbpf_rs::Result<u32> {
    let LinkTypeInfo::StructOps(info) = link.info()?.info else { return Ok(0) };
    // The value of a map of this kind begins with the number of references to it, descriptors left out. One is the link's.
    let value = MapHandle::from_map_id(info.map_id)?.lookup(&0_u32.to_ne_bytes(), MapFlags::empty())?;
    let references = value.and_then(|value| value.first_chunk().copied()).map_or(0, u32::from_ne_bytes);
    Ok(references.saturating_sub(1))
}

/// Mounts the BPF filesystem where it should be, if it is not.
fn mount_bpffs() -> Result<(), Error> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_mounted = mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq([BPFFS, "bpf"]));
    if is_mounted {
        return Ok(());
    }
    mount(Some("bpf"), Path::new(BPFFS), Some("bpf"), MsFlags::empty(), None::<&str>)
        .map_err(|error| Error::failed(format!("mount the BPF filesystem at {BPFFS}"))(error.into()))
}

/// Removes our folder if it is empty.
fn remove_folder() {
    // Another control may be in it, or come into it now; an empty folder harms nobody.
    drop(fs::remove_dir(folder()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TWINS;

    #[test]
    fn of_a_long_log_the_end_is_told() {
        assert_eq!(last_words(""), "");
        assert_eq!(last_words("libbpf: no such thing\n"), ". At the end libbpf says:\n    libbpf: no such thing");
        let log: String = (0..100).map(|i| format!("{i}: (bf) r6 = r1\n")).collect();
        let said = last_words(&format!(
            "libbpf: prog 'x': BPF program load failed\nlibbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n{log}R0 !read_ok\n-- END PROG LOAD LOG --\nlibbpf: gone\n"
        ));
        assert!(said.starts_with(". At the end the verifier says:\n    89: (bf)") && said.ends_with("\n    R0 !read_ok"), "{said}");
        assert_eq!(said.lines().count(), 1 + LAST);
    }

    /// The initial parameters of a program are the core's defaults: they stand in the core's order, and there are as many.
    #[test]
    fn every_program_has_the_parameters_of_its_core() {
        libbpf_rs::set_print(None);
        for twin in TWINS {
            let defaults = knobs(&Params::defaults(twin.core().params));
            let object = ObjectBuilder::default().open_memory(twin.object).unwrap();
            let section = object.maps().find(|map| map.name().to_string_lossy().ends_with(KNOBS));
            let values = section.and_then(|map| map.initial_value().map(<[u8]>::to_vec)).unwrap_or_default();
            let found = values.chunks_exact(8).map(|value| u64::from_ne_bytes(value.try_into().unwrap()));
            assert!(found.eq(defaults.iter().map(|(_, value)| *value)), "{}: {defaults:?}", twin.name);
            open(twin, &Params::defaults(twin.core().params)).unwrap();
        }
    }
}
