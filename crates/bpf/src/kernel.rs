//! Into the kernel and out of it again. What is loaded is a link of the kind `struct_ops`, pinned in the BPF filesystem, so that it outlives
//! the process that made it.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, OpenObject};
use longfat_core::params::Params;
use nix::mount::{MsFlags, mount};

use crate::{Error, Place, Twin, find, knobs, list, privilege, settings};

/// Where the filesystem is that keeps what is loaded.
const BPFFS: &str = "/sys/fs/bpf";

/// The section of a program in which its parameters are, in the order of the core's.
const KNOBS: &str = ".rodata.knobs";

/// Registers the control `name` with the kernel, for the whole machine, with `changes` of its parameters, each as an experiment file would
/// write it. Its name there.
pub fn load(name: &str, changes: &[(String, String)]) -> Result<&'static str, Error> {
    let twin = find(name)?;
    let Registered(mut link) = register(twin, &settings(twin, changes)?)?;
    mount_bpffs()?;
    fs::create_dir_all(folder()).map_err(|error| Error::failed(format!("make {}", folder().display()))(error.into()))?;
    // It goes again at the end of this function, unless it is pinned.
    let pinned = link.pin(pin(twin)).map_err(|error| Error::failed(format!("load {}", twin.kernel_name))(error.into()));
    if pinned.is_err() {
        remove_folder();
    }
    pinned.map(|()| twin.kernel_name)
}

/// A control that is registered as long as this lives. It goes with the process, however that ends.
#[derive(Debug)]
pub struct Registered(Link);

/// Registers `twin` with the kernel, for the whole machine, with these parameters of its core.
pub fn register(twin: &Twin, params: &Params) -> Result<Registered, Error> {
    privilege::check()?;
    if is_loaded(twin) {
        return Err(Error::Loaded(twin.kernel_name));
    }
    let failed = |error: libbpf_rs::Error| Error::failed(format!("load {}", twin.kernel_name))(error.into());
    // What libbpf says goes nowhere: the error has what the kernel answered.
    libbpf_rs::set_print(None);
    let mut object = open(twin, params).map_err(failed)?.load().map_err(failed)?;
    let mut ops = object.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("every twin has its ops");
    ops.attach_struct_ops().map(Registered).map_err(failed)
}

/// Takes the control `name` from the kernel. While connections have it that is an error, unless `force`: then no new one can have it, and it
/// goes with the last. Its name there.
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

/// Where a control of ours is kept while it is loaded.
fn folder() -> PathBuf {
    Path::new(BPFFS).join("longfat")
}

/// Where this one is.
fn pin(twin: &Twin) -> PathBuf {
    folder().join(twin.kernel_name)
}

fn is_loaded(twin: &Twin) -> bool {
    pin(twin).exists() || list().iter().any(|one| one.name == twin.kernel_name && one.place == Place::Loaded)
}

/// The program, with its parameters, as it will be verified.
fn open(twin: &Twin, params: &Params) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().name(twin.kernel_name)?.open_memory(twin.object)?;
    let values: Vec<u8> = knobs(params).into_iter().flat_map(|(_, value)| value.to_ne_bytes()).collect();
    if let Some(mut section) = object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(KNOBS)) {
        section.set_initial_value(&values)?;
    }
    Ok(object)
}

/// How many connections, and defaults of namespaces, have the control of `link`.
fn users(link: &Link) -> libbpf_rs::Result<u32> {
    let LinkTypeInfo::StructOps(info) = link.info()?.info else { return Ok(0) };
    // What a map of this kind gives back begins with how many references are on it, descriptors left out. One is the link's.
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

/// Our folder, if nothing is in it any more.
fn remove_folder() {
    // Another control may be in it, or come into it now; an empty folder harms nobody.
    drop(fs::remove_dir(folder()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TWINS;

    /// What a program has at first is what the core has by default: so its parameters stand in the core's order, and there are as many.
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
