#!/usr/bin/env python3
"""Tests the Python module on the C API with the shared library.

Usage: engine_test.py LIBRARY DIRECTORY     (DIRECTORY is made; what the test makes in it is removed)
"""
import os
import pathlib
import signal
import sys
import tempfile
import threading
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ["TESTBED_ENGINE_LIBRARY"] = sys.argv[1]
os.makedirs(sys.argv[2], exist_ok=True)
sys.path.insert(0, str(SOURCE / "python"))
import testbed_engine  # noqa: E402


class EngineTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(dir=sys.argv[2])
        self.directory = self.temporary.name

    def tearDown(self):
        self.temporary.cleanup()

    def test_rows_stay(self):
        self.assertIn("btree", testbed_engine.engines())
        with testbed_engine.open("btree", self.directory, durability="sync") as engine:
            table = engine.table("t")
            with engine.session() as session:
                with session.transaction():
                    session.put(table, b"b\0c", b"\0\1")
                    session.put(table, b"a", b"")
                session.put(table, b"c", b"x" * 100000)
                session.erase(table, b"absent")
                self.assertEqual(session.get(table, b"b\0c"), b"\0\1")
                self.assertIsNone(session.get(table, b"b"))
        with testbed_engine.open("btree", self.directory, create=False) as engine, engine.session() as session:
            table = engine.table("t")
            self.assertEqual(list(session.scan(table)), [(b"a", b""), (b"b\0c", b"\0\1"), (b"c", b"x" * 100000)])
            self.assertEqual(list(session.scan(table, first=b"b\0d")), [(b"c", b"x" * 100000)])

    def test_a_backup_is_a_database(self):
        copy = os.path.join(self.directory, "copy")
        with testbed_engine.open("btree", os.path.join(self.directory, "database")) as engine, engine.session() as session:
            table = engine.table("t")
            session.put(table, b"a", b"1")
            engine.backup(copy)
            session.put(table, b"a", b"2")
            with self.assertRaisesRegex(testbed_engine.Error, "is not empty"):
                engine.backup(copy)
        with testbed_engine.open("btree", copy, create=False) as engine, engine.session() as session:
            self.assertEqual(list(session.scan(engine.table("t"))), [(b"a", b"1")])

    def test_statistics_are_those_of_the_database(self):
        with testbed_engine.open("btree", self.directory, cache_bytes="16M") as engine, engine.session() as session:
            before = engine.counters()
            session.put(engine.table("t"), b"a", b"x" * 1000)
            engine.checkpoint()
            self.assertGreaterEqual(engine.counters()["log_payload_bytes"], before["log_payload_bytes"] + 1000)
            self.assertGreater(before["cache_bytes"], 0)
            self.assertEqual(engine.settings()["cache_bytes"], str(16 << 20))
            self.assertEqual(engine.settings()["durability"], "lazy")

    def test_a_compacted_database_has_its_rows_and_takes_less_space(self):
        data = os.path.join(self.directory, "btree.data")
        with testbed_engine.open("btree", self.directory, durability="none") as engine, engine.session() as session:
            table = engine.table("t")
            for i in range(4000):
                session.put(table, b"%d" % i, b"x" * 1000)
            for i in range(10, 4000):
                session.erase(table, b"%d" % i)
            with self.assertRaisesRegex(testbed_engine.Error, "is in use by this process"):
                testbed_engine.compact("btree", self.directory)
        before = os.path.getsize(data)
        testbed_engine.compact("btree", self.directory)
        self.assertLess(os.path.getsize(data), before / 10)
        with testbed_engine.open("btree", self.directory) as engine, engine.session() as session:
            self.assertEqual(list(session.scan(engine.table("t"))), [(b"%d" % i, b"x" * 1000) for i in range(10)])

    def test_a_block_that_raises_is_rolled_back(self):
        with testbed_engine.open("btree", self.directory) as engine, engine.session() as session:
            table = engine.table("t")
            with self.assertRaises(KeyError):
                with session.transaction():
                    session.put(table, b"a", b"1")
                    raise KeyError
            self.assertIsNone(session.get(table, b"a"))

    def test_errors_are_sentences(self):
        with self.assertRaisesRegex(testbed_engine.Error, "cannot honour the option durability=soon; it accepts") as caught:
            testbed_engine.open("btree", self.directory, durability="soon")
        self.assertEqual(caught.exception.status, 2)
        with self.assertRaisesRegex(testbed_engine.Error, "has no --engine-option colour"):
            testbed_engine.open("btree", self.directory, colour="red")
        self.assertEqual(os.listdir(self.directory), [])
        with testbed_engine.open("btree", self.directory) as engine:
            with self.assertRaises(testbed_engine.Error) as caught:
                testbed_engine.open("btree", self.directory)
            self.assertEqual(caught.exception.status, 2)
            session = engine.session()
            with self.assertRaisesRegex(testbed_engine.Error, "sessions that are open"):
                engine.close()
            session.close()

    def test_keys_and_values_are_bytes_and_nothing_else(self):
        with testbed_engine.open("btree", self.directory) as engine, engine.session() as session:
            table = engine.table("t")
            for wrong in (5, [1, 2], "a", None):
                with self.assertRaises(TypeError):
                    session.put(table, wrong, b"")
                with self.assertRaises(TypeError):
                    session.put(table, b"a", wrong)
            session.put(table, bytearray(b"b"), memoryview(b"xyz")[::2])
            self.assertEqual(list(session.scan(table)), [(b"b", b"xz")])

    def test_the_library_that_is_looked_for_is_of_this_release(self):
        release = ".".join(testbed_engine.version.split(".")[:2])
        module = (SOURCE / "python/testbed_engine.py").read_text(encoding="utf-8")
        self.assertIn(f'"libtestbed_engine.so.{release}"', module)

    def test_names_end_at_no_zero_byte(self):
        with self.assertRaisesRegex(ValueError, "zero byte"):
            testbed_engine.open("btree", os.path.join(self.directory, "a\0b"))
        for words in ({"durability": "sync\0"}, {"io\0": "mmap"}):
            with self.assertRaisesRegex(ValueError, "zero byte"):
                testbed_engine.open("btree", self.directory, **words)
        self.assertEqual(os.listdir(self.directory), [])
        with testbed_engine.open("btree", self.directory) as engine:
            with self.assertRaisesRegex(ValueError, "zero byte"):
                engine.table("t\0u")

    def test_a_handle_is_gone_after_its_close(self):
        engine = testbed_engine.open("btree", self.directory)
        session = engine.session()
        with self.assertRaisesRegex(testbed_engine.Error, "sessions that are open"):
            engine.close()
        session.close()
        session.close()
        engine.close()
        engine.close()
        testbed_engine.open("btree", self.directory).close()

    def test_a_handle_is_gone_after_a_close_that_failed(self):
        engine, call = testbed_engine.open("btree", self.directory), testbed_engine._call

        def fail(*arguments):
            call(*arguments)
            raise testbed_engine.Error(3)

        with unittest.mock.patch.object(testbed_engine, "_call", fail), self.assertRaises(testbed_engine.Error):
            engine.close()
        engine.close()

    def test_a_forked_child_does_not_close_the_database(self):
        with testbed_engine.open("btree", self.directory) as engine:
            table = engine.table("t")
            with engine.session() as session:
                session.put(table, b"a", b"1")
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                try:
                    engine.close()
                except testbed_engine.Error as error:
                    os._exit(error.status)
                os._exit(0)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 5)
            with engine.session() as session:
                session.put(table, b"b", b"2")
        with testbed_engine.open("btree", self.directory) as engine, engine.session() as session:
            self.assertEqual(list(session.scan(engine.table("t"))), [(b"a", b"1"), (b"b", b"2")])

    def test_two_databases_and_threads(self):
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        engines = [testbed_engine.open("btree", os.path.join(self.directory, name), cache_bytes="16M") for name in "ab"]

        def write(engine, first):
            table = engine.table("t")
            with engine.session() as session:
                for i in range(200):
                    session.put(table, b"%d-%d" % (first, i), b"value")

        threads = [threading.Thread(target=write, args=(engine, first)) for engine in engines for first in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for engine in engines:
            with engine.session() as session:
                self.assertEqual(len(list(session.scan(engine.table("t")))), 400)
            engine.close()
        self.assertEqual(handlers, [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
