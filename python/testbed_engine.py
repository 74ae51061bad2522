"""The engines in Python, over the C API (include/testbed/testbed_engine.h of an installation) by ctypes.

    import testbed_engine

    with testbed_engine.open("btree", "/tmp/people", durability="sync") as engine:
        people = engine.table("people")
        with engine.session() as session:
            with session.transaction():
                session.put(people, b"ada", b"1815")
            print(session.get(people, b"ada"))
            for key, value in session.scan(people, first=b"a"):
                print(key, value)

Keys and values are bytes (or bytearray, memoryview); get returns None for a key that is absent. A failure is an Error, with the library's sentence and its
status; a name with a zero byte is a ValueError. An engine may be used by many threads; a session is one thread's. The library is
libtestbed_engine.so.0.1, or the file that the environment variable TESTBED_ENGINE_LIBRARY names.
"""
import contextlib
import ctypes
import os

_library = ctypes.CDLL(os.environ.get("TESTBED_ENGINE_LIBRARY", "libtestbed_engine.so.0.1"))
_library.testbed_error.restype = _library.testbed_version.restype = _library.testbed_engine_name.restype = ctypes.c_char_p
_library.testbed_engine_name.argtypes = [ctypes.c_size_t]
_TakeSetting = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_TakeCounter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int)
_NOT_FOUND, _USAGE = 1, 2
version = _library.testbed_version().decode()


class Error(Exception):
    def __init__(self, status):
        super().__init__(_library.testbed_error().decode(errors="replace"))
        self.status, self.errno = status, _library.testbed_error_number()


def _call(name, *arguments):
    """Calls the function; returns whether it found what it looked for."""
    status = getattr(_library, "testbed_" + name)(*arguments)
    if status not in (0, _NOT_FOUND):
        raise Error(status)
    return status == 0


def _bytes(data):
    # bytes(5) would be five zero bytes, and bytes([1, 2]) those two: only what is bytes already is taken.
    data = data if isinstance(data, bytes) else bytes(memoryview(data))
    return ctypes.c_char_p(data), ctypes.c_size_t(len(data))


def _name(data):
    # A name would end at its first zero byte, and another table or directory would be opened.
    if b"\0" in data:
        raise ValueError(f"{data!r} has a zero byte, and names have none")
    return data


class _Places:
    """Places for the pointers and lengths of a key and a value, which the library fills in."""
    def __init__(self):
        self.data = [ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_size_t()]
        self.references = [ctypes.byref(place) for place in self.data]

    def copy(self, first):
        return ctypes.string_at(self.data[first].value or 0, self.data[first + 1].value) if self.data[first + 1].value else b""


class _Handle:
    def __init__(self, kind, opener, *arguments):
        self._kind, self._handle = kind, ctypes.c_void_p()
        _call(opener, *arguments, ctypes.byref(self._handle))

    def close(self):
        """Closes it. It is closed after an Error, too, except one of status 2: then it stays open,
        because something of it is open, such as a session of an engine, or another thread is in a
        call of it, such as a backup."""
        if self._handle:
            try:
                _call(self._kind, self._handle)
            except Error as error:
                if error.status != _USAGE:
                    self._handle = ctypes.c_void_p()
                raise
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Engine(_Handle):
    def table(self, name):
        number = ctypes.c_uint32()
        _call("open_table", self._handle, _name(name.encode()), ctypes.byref(number))
        return number

    def session(self):
        return Session("session_close", "session_open", self._handle)

    def checkpoint(self):
        _call("checkpoint", self._handle)

    def backup(self, directory):
        """Copies the database, as it is at one moment, to a new or empty directory. Other
        threads may go on meanwhile."""
        _call("backup", self._handle, _name(os.fsencode(directory)))

    def settings(self):
        """Returns the settings in force, {name: value}, as strings under the engine's own names."""
        found = []
        _call("settings", self._handle, _TakeSetting(lambda _, *setting: found.append(setting)), None)
        return {name.decode(): value.decode() for name, value in found}

    def counters(self):
        """Returns what the engine counts about itself, {name: number}: totals since the opening
        (block_requests, log_written_bytes, ...), and values as they are now (cache_bytes, ...)."""
        found = []
        _call("counters", self._handle, _TakeCounter(lambda _, *counter: found.append(counter)), None)
        return {name.decode(): number for name, number, _ in found}


class Session(_Handle):
    def get(self, table, key):
        places = _Places()
        return places.copy(2) if _call("get", self._handle, table, *_bytes(key), *places.references[2:]) else None

    def put(self, table, key, value):
        _call("put", self._handle, table, *_bytes(key), *_bytes(value))

    def erase(self, table, key):
        _call("erase", self._handle, table, *_bytes(key))

    @contextlib.contextmanager
    def transaction(self):
        """Commits at the end of the block; rolls back when the block raises."""
        _call("begin", self._handle)
        try:
            yield self
        except BaseException:
            _call("rollback", self._handle)
            raise
        _call("commit", self._handle)

    def scan(self, table, first=b""):
        """Yields (key, value) in the order of keys, from the first that is not below `first`."""
        with _Handle("cursor_close", "cursor_open", self._handle, table) as cursor:
            places = _Places()
            there = _call("cursor_seek", cursor._handle, *_bytes(first))
            while there:
                _call("cursor_row", cursor._handle, *places.references)
                yield places.copy(0), places.copy(2)
                there = _call("cursor_next", cursor._handle)


def _database(engine, directory, options):
    words = [_name(f"{name}={int(value) if isinstance(value, bool) else value}".encode()) for name, value in options.items()]
    return _name(engine.encode()), _name(os.fsencode(directory)), (ctypes.c_char_p * (len(words) + 1))(*words, None)


def open(engine, directory, **options):
    """Opens the database; options as of testbed_open: cache_bytes=1 << 28, durability="sync", create=0, ...
    Without durability="sync" a crash may lose the commits of the last 100 ms."""
    return Engine("close", "open", *_database(engine, directory, options))


def compact(engine, directory, **options):
    """Rewrites a database that is not open, so that its files are as long as its rows need; options as of open."""
    _call("compact", *_database(engine, directory, options))


def engines():
    """Returns the names of the engines that the library has."""
    names = []
    while (name := _library.testbed_engine_name(len(names))) is not None:
        names.append(name.decode())
    return names
