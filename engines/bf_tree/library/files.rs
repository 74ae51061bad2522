//! The files of a tree, in place of the crate's src/fs/std_vfs.rs. They are the host's: each call on a file is one of
//! its functions (interface.h), so that testbed does the IO and counts it.
//!
//! The host keeps failed writes from the tree, which could not go on without the page. A read that fails panics, as it
//! does in the crate; lib.rs catches it, and the tree is not used any more.

use std::cell::Cell;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::ptr::null;

use super::{OffsetAlloc, VfsImpl};
use crate::counter;

#[repr(C)]
pub struct Bytes {
    pub data: *const u8,
    pub size: usize,
}

/// BfHost of interface.h.
#[repr(C)]
pub struct Host {
    pub context: *mut c_void,
    pub open: unsafe extern "C" fn(*mut c_void, Bytes, *mut u64) -> *mut c_void,
    pub close: unsafe extern "C" fn(*mut c_void),
    pub read: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize) -> i32,
    pub write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize),
    pub truncate: unsafe extern "C" fn(*mut c_void),
    pub sync: unsafe extern "C" fn(*mut c_void),
    pub dead: unsafe extern "C" fn(*mut c_void) -> i32,
}

thread_local! {
    static HOST: Cell<*const Host> = const { Cell::new(null()) };
}

/// Runs `body`, whose thread opens the files of `host`. The host must outlive them.
pub fn with_host<T>(host: *const Host, body: impl FnOnce() -> T) -> T {
    struct Restore(*const Host);
    impl Drop for Restore {
        fn drop(&mut self) {
            HOST.set(self.0);
        }
    }
    let _restore = Restore(HOST.replace(host));
    body()
}

pub(crate) struct StdVfs {
    host: *const Host,
    file: *mut c_void,
    offset_alloc: OffsetAlloc,
}

unsafe impl Send for StdVfs {}
unsafe impl Sync for StdVfs {}

impl StdVfs {
    fn host(&self) -> &Host {
        unsafe { &*self.host }
    }
}

impl VfsImpl for StdVfs {
    fn open(path: impl AsRef<std::path::Path>) -> Self {
        let host = HOST.get();
        assert!(!host.is_null(), "a file is opened by a thread without a host");
        let path = path.as_ref().as_os_str().as_bytes();
        let bytes = Bytes {
            data: path.as_ptr(),
            size: path.len(),
        };
        let mut size = 0;
        let file = unsafe { ((*host).open)((*host).context, bytes, &mut size) };
        assert!(!file.is_null(), "a file could not be opened");
        Self {
            host,
            file,
            offset_alloc: OffsetAlloc::new_with(size as usize),
        }
    }

    fn alloc_offset(&self, size: usize) -> usize {
        self.offset_alloc.alloc(size)
    }

    fn dealloc_offset(&self, offset: usize) {
        self.offset_alloc.dealloc_offset(offset)
    }

    fn read(&self, offset: usize, buf: &mut [u8]) {
        counter!(IOReadRequest);
        let failed =
            unsafe { (self.host().read)(self.file, offset as u64, buf.as_mut_ptr(), buf.len()) };
        assert!(failed == 0, "a read failed");
    }

    fn write(&self, offset: usize, buf: &[u8]) {
        counter!(IOWriteRequest);
        unsafe { (self.host().write)(self.file, offset as u64, buf.as_ptr(), buf.len()) }
    }

    fn flush(&self) {
        unsafe { (self.host().sync)(self.file) }
    }

    fn reset(&self) {
        unsafe { (self.host().truncate)(self.file) };
        self.offset_alloc.reset(0);
    }

    fn requires_aligned_io(&self) -> bool {
        true
    }

    fn check(&self) {
        let dead = unsafe { (self.host().dead)(self.host().context) };
        assert!(dead == 0, "a read of another thread failed");
    }
}

impl Drop for StdVfs {
    fn drop(&mut self) {
        unsafe { (self.host().close)(self.file) }
    }
}
