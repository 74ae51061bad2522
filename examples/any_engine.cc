// Writes the same rows with any engine of the build, and reads them back.
//
//   any_engine                        names the engines
//   any_engine ENGINE DIRECTORY       writes three rows, reads them back in order
#include <testbed/engines.h>

#include <iostream>
#include <string>

namespace {

void WriteAndRead(const std::string& name, const std::string& directory) {
  const testbed::EngineOptions options = testbed::DefaultEngineOptions(testbed::FindEngine(name));
  const auto engine = testbed::OpenEngine(name, directory, options);
  const testbed::TableId table = engine->OpenTable("rows");
  const auto session = engine->NewSession();
  session->Begin();
  session->Put(table, "ada", "1815");
  session->Put(table, "grace", "1906");
  session->Put(table, "edsger", "1930");
  session->Commit();
  const auto cursor = session->NewCursor(table);
  for (bool row = cursor->First(); row; row = cursor->Next()) {
    std::cout << cursor->key() << '\t' << cursor->value() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const auto& info : testbed::Engines()) std::cout << info.name << '\n';
    return 0;
  }
  if (argc != 3) return std::cerr << "give an engine and a directory, or nothing\n", 2;
  try {
    WriteAndRead(argv[1], argv[2]);
  } catch (const testbed::Error& error) {
    return std::cerr << error.what() << '\n', error.kind() == testbed::Error::kUsage ? 2 : 1;
  }
}
