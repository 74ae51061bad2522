"""A connection to MariaDB by its client library, libmariadb.so.3.

ctypes releases the interpreter's lock during a call, so that other threads run meanwhile.
"""
import ctypes

CONNECT_TIMEOUT, READ_TIMEOUT, WRITE_TIMEOUT = 0, 11, 12  # enum mysql_option of mysql.h
SERVER_GONE = (2002, 2003, 2006, 2013, 2055)


class ClientMissing(Exception):
    """Says that the client library is not there."""


class ServerError(Exception):
    """An error that the server or the client library has reported."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code

    @property
    def connection_lost(self):
        return self.code in SERVER_GONE


def _load():
    try:
        library = ctypes.CDLL("libmariadb.so.3")
    except OSError as error:
        raise ClientMissing(f"there is no libmariadb.so.3 (Debian: apt-get install libmariadb3): {error}") from error
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint
    for name, result, arguments in [
            ("mysql_init", pointer, [pointer]), ("mysql_close", None, [pointer]),
            ("mysql_options", ctypes.c_int, [pointer, ctypes.c_int, pointer]),
            ("mysql_real_connect", pointer, [pointer, text, text, text, text, number, text, ctypes.c_ulong]),
            ("mysql_real_query", ctypes.c_int, [pointer, text, ctypes.c_ulong]),
            ("mysql_use_result", pointer, [pointer]), ("mysql_free_result", None, [pointer]),
            ("mysql_num_fields", number, [pointer]), ("mysql_fetch_row", ctypes.POINTER(pointer), [pointer]),
            ("mysql_fetch_lengths", ctypes.POINTER(ctypes.c_ulong), [pointer]),
            ("mysql_errno", number, [pointer]), ("mysql_error", text, [pointer])]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Connection:
    """Not thread-safe. Errors are ServerError; after one with connection_lost the connection is of no more use."""

    _library = None

    def __init__(self, socket, timeout):
        """Connects to the Unix socket as root. An answer that takes longer than `timeout` seconds is an error."""
        if Connection._library is None:
            Connection._library = _load()
        self._handle = ctypes.c_void_p(self._library.mysql_init(None))
        for option in (CONNECT_TIMEOUT, READ_TIMEOUT, WRITE_TIMEOUT):
            self._library.mysql_options(self._handle, option, ctypes.byref(ctypes.c_uint(max(1, round(timeout)))))
        if not self._library.mysql_real_connect(self._handle, b"localhost", b"root", None, None, 0, socket.encode(), 0):
            error = self._error()
            self.close()
            raise error

    def _error(self):
        return ServerError(self._library.mysql_errno(self._handle), (self._library.mysql_error(self._handle) or b"").decode(errors="replace"))

    def close(self):
        if self._handle is not None:
            self._library.mysql_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rows(self, sql):
        """Yields the rows of a statement as tuples of bytes, with None for NULL. The caller must
        take all rows before the next statement."""
        sql = sql.encode() if isinstance(sql, str) else sql
        if self._library.mysql_real_query(self._handle, sql, len(sql)) != 0:
            raise self._error()
        result = self._library.mysql_use_result(self._handle)
        if not result:
            if self._library.mysql_errno(self._handle) != 0:
                raise self._error()
            return
        result = ctypes.c_void_p(result)
        try:
            fields = self._library.mysql_num_fields(result)
            while row := self._library.mysql_fetch_row(result):
                lengths = self._library.mysql_fetch_lengths(result)
                yield tuple(None if row[i] is None else ctypes.string_at(row[i], lengths[i]) for i in range(fields))
            if self._library.mysql_errno(self._handle) != 0:
                raise self._error()
        finally:
            self._library.mysql_free_result(result)

    def run(self, sql):
        return list(self.rows(sql))

    def status(self, pattern):
        """Returns the status variables of a LIKE pattern."""
        return {name.decode(): value.decode() for name, value in self.run(f"SHOW GLOBAL STATUS LIKE '{pattern}'")}
