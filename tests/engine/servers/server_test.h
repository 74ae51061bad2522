// The tests of what only the engines that speak to a server promise: a test's own database has a
// private server, to which others connect.
#ifndef TESTBED_TESTS_ENGINE_SERVERS_SERVER_TEST_H_
#define TESTBED_TESTS_ENGINE_SERVERS_SERVER_TEST_H_

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engines/registry.h"
#include "tests/engine/engine_test.h"

namespace testbed {

class ServerTest : public EngineTest {
 public:
  // These tests are for the engines that are a server's client.
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.server; }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    options_.durability = Durability::kSync;
  }
  // Opens a database in `name` on the server that the test's own database has.
  std::unique_ptr<Engine> Connect(const std::string& name, const std::string& schema,
                                  bool replace = false) {
    return ConnectTo(Url(), name, schema, replace);
  }
  std::unique_ptr<Engine> ConnectTo(const std::string& url, const std::string& name,
                                    const std::string& schema, bool replace = false) {
    EngineOptions options = options_;
    options.replace = replace;
    options.extra = {{"schema", schema}, {"connect", url}};
    return OpenEngine(info().name, dir_ + "/" + name, options);
  }
  std::string Url() const { return UrlOf(dir_ + "/cluster"); }
  // Returns the URL of a server whose socket lies in `directory`.
  std::string UrlOf(const std::string& directory) const {
    return info().name == "postgres"
               ? "host=" + directory + " user=testbed dbname=postgres"
               : "mysql://root@localhost/?socket=" + directory + "/mysqld.sock";
  }
  static std::string ValueOf(Engine* engine, const std::string& key) {
    std::string_view value;
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> session = engine->NewSession();
    return session->Get(table, key, &value) ? std::string(value) : kAbsent;
  }
  static void PutIn(Engine* engine, const std::string& key, const std::string& value) {
    const TableId table = engine->OpenTable("t");
    engine->NewSession()->Put(table, key, value);
  }
  // The server's process, by the file that it keeps.
  pid_t ServerPid() const {
    std::ifstream file(dir_ + "/cluster/" +
                       (info().name == "postgres" ? "postmaster.pid" : "server.pid"));
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
};

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_SERVERS_SERVER_TEST_H_
