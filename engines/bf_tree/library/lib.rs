//! The library of the engine bf-tree: C functions around Bf-Tree. interface.h says what they are given, and
//! engines/bf_tree/library.h declares them.
//!
//! No panic leaves them. One that happens inside Bf-Tree, as after a read that failed, is returned as BF_FAILED.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::path::Path;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Once;

use bf_tree::{
    with_host, BfTree, Config, Host, LeafInsertResult, LeafReadResult, ScanReturnField,
    StorageBackend,
};

const INTERFACE: c_int = 1;

#[repr(C)]
#[derive(PartialEq, Clone, Copy)]
pub enum Code {
    Ok = 0,
    NotFound,
    Refused,
    Failed,
}

#[repr(C)]
pub struct Bytes {
    data: *const u8,
    size: usize,
}

impl Bytes {
    unsafe fn get(&self) -> &[u8] {
        if self.size == 0 {
            return &[];
        }
        unsafe { from_raw_parts(self.data, self.size) }
    }
    unsafe fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(unsafe { self.get() }))
    }
}

#[repr(C)]
pub struct ErrorText {
    text: [u8; 512],
}

impl ErrorText {
    fn set(&mut self, sentence: &str) {
        let n = sentence.len().min(self.text.len() - 1);
        self.text[..n].copy_from_slice(&sentence.as_bytes()[..n]);
        self.text[n] = 0;
    }
}

#[repr(C)]
pub struct Settings {
    cache_bytes: u64,
    page_bytes: u64,
    max_key_bytes: u64,
    max_record_bytes: u64,
    read_promotion: u64,
    scan_promotion: u64,
    copy_on_access: f64,
    record_cache: c_int,
    load_full_page: c_int,
}

/// A tree, and the host of its files.
pub struct Tree {
    tree: BfTree,
    host: *const Host,
    settings: String,
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the sentence of a panic for the call that it ends, in place of printing it.
fn catch_sentences() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_hook(Box::new(|info| {
            let what = info
                .payload()
                .downcast_ref::<&str>()
                .map(|s| s.to_string())
                .or_else(|| info.payload().downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a panic".to_string());
            let place = info
                .location()
                .map(|l| format!(" ({}:{})", l.file(), l.line()))
                .unwrap_or_default();
            PANIC.with_borrow_mut(|text| *text = what.replace('\n', " ") + &place);
        }));
    });
}

fn guarded(error: *mut ErrorText, body: impl FnOnce() -> Result<Code, String>) -> Code {
    let (code, sentence) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => return code,
        Ok(Err(refused)) => (Code::Refused, refused),
        Err(_) => (Code::Failed, PANIC.with_borrow(|text| text.clone())),
    };
    unsafe { (*error).set(&sentence) };
    code
}

#[no_mangle]
pub extern "C" fn bf_interface() -> c_int {
    INTERFACE
}

/// Opens a tree: with `from_snapshot`, the one that the snapshot `path` holds, whose file it changes in place; else a new
/// one, whose pages are in the file `path`.
///
/// # Safety
/// Pointers are as interface.h says; the host outlives the tree.
#[no_mangle]
pub unsafe extern "C" fn bf_open(
    path: Bytes,
    from_snapshot: c_int,
    settings: *const Settings,
    host: *const Host,
    out: *mut *mut Tree,
    error: *mut ErrorText,
) -> Code {
    catch_sentences();
    guarded(error, || {
        let (path, given) = unsafe { (path.path(), &*settings) };
        let cache = given.cache_bytes as usize;
        let opened = with_host(host, || {
            if from_snapshot != 0 {
                return BfTree::new_from_cpr_snapshot(path, false, None, Some(cache), None);
            }
            let mut config = Config::default();
            config
                .storage_backend(StorageBackend::Std)
                .file_path(path)
                .cb_size_byte(cache)
                .leaf_page_size(given.page_bytes as usize)
                .cb_max_key_len(given.max_key_bytes as usize)
                .cb_max_record_size(given.max_record_bytes as usize)
                .read_promotion_rate(given.read_promotion as usize)
                .scan_promotion_rate(given.scan_promotion as usize)
                .cb_copy_on_access_ratio(given.copy_on_access)
                .read_record_cache(given.record_cache != 0)
                .write_load_full_page(given.load_full_page != 0);
            BfTree::with_config(config, None)
        });
        let tree = opened.map_err(|refused| format!("{refused:?}"))?;
        tree.update_read_promotion_rate(given.read_promotion as usize);
        let settings = format!("{:#?}\0", tree.config());
        let made = Tree {
            tree,
            host,
            settings,
        };
        unsafe { *out = Box::into_raw(Box::new(made)) };
        Ok(Code::Ok)
    })
}

/// Closes the tree. What it has not written is gone. With `leak`, its memory and its open file stay: after a panic no
/// part of it may be touched.
///
/// # Safety
/// No thread uses the tree, now or later.
#[no_mangle]
pub unsafe extern "C" fn bf_close(tree: *mut Tree, leak: c_int, error: *mut ErrorText) -> Code {
    guarded(error, || {
        if leak == 0 {
            drop(unsafe { Box::from_raw(tree) });
        }
        Ok(Code::Ok)
    })
}

/// Copies the row's value to `buffer`, which has room for the longest record, and sets *size.
///
/// # Safety
/// Pointers are as interface.h says.
#[no_mangle]
pub unsafe extern "C" fn bf_get(
    tree: *const Tree,
    key: Bytes,
    buffer: *mut u8,
    room: usize,
    size: *mut usize,
    error: *mut ErrorText,
) -> Code {
    guarded(error, || {
        let (tree, key) = unsafe { (&(*tree).tree, key.get()) };
        match tree.read(key, unsafe { from_raw_parts_mut(buffer, room) }) {
            LeafReadResult::Found(n) => {
                unsafe { *size = n as usize };
                Ok(Code::Ok)
            }
            LeafReadResult::InvalidKey => Err("it takes no such key".to_string()),
            _ => Ok(Code::NotFound),
        }
    })
}

/// # Safety
/// Pointers are as interface.h says.
#[no_mangle]
pub unsafe extern "C" fn bf_put(
    tree: *const Tree,
    key: Bytes,
    value: Bytes,
    error: *mut ErrorText,
) -> Code {
    guarded(error, || {
        let (tree, key, value) = unsafe { (&(*tree).tree, key.get(), value.get()) };
        match tree.insert(key, value) {
            LeafInsertResult::Success => Ok(Code::Ok),
            LeafInsertResult::InvalidKV(why) => Err(why),
        }
    })
}

/// # Safety
/// Pointers are as interface.h says.
#[no_mangle]
pub unsafe extern "C" fn bf_erase(tree: *const Tree, key: Bytes, error: *mut ErrorText) -> Code {
    guarded(error, || {
        unsafe { (*tree).tree.delete(key.get()) };
        Ok(Code::Ok)
    })
}

/// Copies the rows from key `start` on, and before key `end`, to `buffer`: key and value of one row after those of the
/// other, and their sizes to `sizes`, two for each row. At most `most` rows are copied; and none when there is less room
/// than `longest`, the bytes of the longest record, so there must be that at least. Sets *rows to their number, and
/// *ended when no further row is before `end`.
///
/// # Safety
/// Pointers are as interface.h says.
#[no_mangle]
pub unsafe extern "C" fn bf_scan(
    tree: *const Tree,
    start: Bytes,
    end: Bytes,
    most: u32,
    longest: usize,
    buffer: *mut u8,
    room: usize,
    sizes: *mut u32,
    rows: *mut u32,
    ended: *mut c_int,
    error: *mut ErrorText,
) -> Code {
    guarded(error, || {
        let (tree, start, end) = unsafe { (&(*tree).tree, start.get(), end.get()) };
        let buffer = unsafe { from_raw_parts_mut(buffer, room) };
        let sizes = unsafe { from_raw_parts_mut(sizes, 2 * most as usize) };
        let (mut used, mut count, mut at_end) = (0, 0, start >= end);
        if !at_end {
            // Its end is the last key that it may return.
            let mut scan = tree
                .scan_with_end_key(start, end, ScanReturnField::KeyAndValue)
                .map_err(|refused| format!("{refused:?}"))?;
            while count < most as usize && room - used >= longest {
                let to = &mut buffer[used..];
                let Some((key, value)) = scan.next(to) else {
                    at_end = true;
                    break;
                };
                if &to[..key] >= end {
                    at_end = true;
                    break;
                }
                sizes[2 * count] = key as u32;
                sizes[2 * count + 1] = value as u32;
                used += key + value;
                count += 1;
            }
        }
        unsafe {
            *rows = count as u32;
            *ended = at_end as c_int;
        }
        Ok(Code::Ok)
    })
}

/// Writes a snapshot of the tree to the file `path`_tmp.
///
/// # Safety
/// Pointers are as interface.h says. No other thread uses the tree meanwhile.
#[no_mangle]
pub unsafe extern "C" fn bf_snapshot(
    tree: *const Tree,
    path: Bytes,
    error: *mut ErrorText,
) -> Code {
    guarded(error, || {
        let (tree, path) = unsafe { (&*tree, path.path()) };
        with_host(tree.host, || tree.tree.snapshot_at_rest(path));
        Ok(Code::Ok)
    })
}

/// Returns the settings of the tree, a line "    name: value," each. Valid until the tree is closed.
///
/// # Safety
/// Pointers are as interface.h says.
#[no_mangle]
pub unsafe extern "C" fn bf_settings(tree: *const Tree) -> *const c_char {
    unsafe { (*tree).settings.as_ptr().cast() }
}

/// Returns the bytes of the cache that are in use. Stops other threads for as long as it goes through the cache.
///
/// # Safety
/// Pointers are as interface.h says.
#[no_mangle]
pub unsafe extern "C" fn bf_cache_bytes(tree: *const Tree) -> u64 {
    let used = || unsafe { (*tree).tree.get_buffer_metrics().head_tail_distance as u64 };
    catch_unwind(AssertUnwindSafe(used)).unwrap_or(0)
}
