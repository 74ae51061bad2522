// A program that brings an engine of its own (shelf/shelf.cc) and uses it by name, like those of
// the build.
#include <testbed/engines.h>

#include <iostream>

namespace testbed {
EngineInfo ShelfEngineInfo();
}  // namespace testbed

int main() {
  try {
    testbed::AddEngine(testbed::ShelfEngineInfo());
    const testbed::EngineInfo& info = testbed::FindEngine("shelf");
    const auto engine = testbed::OpenEngine("shelf", "", testbed::DefaultEngineOptions(info));
    const testbed::TableId table = engine->OpenTable("rows");
    const auto session = engine->NewSession();
    session->Put(table, "ada", "1815");
    std::string_view value;
    const bool found = session->Get(table, "ada", &value);
    std::cout << engine->name() << ": " << (found ? value : "nothing") << '\n';
  } catch (const testbed::Error& error) {
    return std::cerr << error.what() << '\n', 1;
  }
}
