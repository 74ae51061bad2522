// A key-value store on testbed::btree.
//
//   key_value_store DIRECTORY put KEY VALUE [KEY VALUE ...]   one transaction, durable at the end
//   key_value_store DIRECTORY get KEY
//   key_value_store DIRECTORY erase KEY
//   key_value_store DIRECTORY list [FIRST KEY]
//   key_value_store DIRECTORY backup COPY                     COPY: a new or empty directory
#include <testbed/btree.h>

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return std::cerr << "give a directory and what to do\n", 2;
  try {
    testbed::EngineOptions options;
    options.cache_bytes = 16 << 20;
    options.durability = testbed::Durability::kSync;
    const auto engine = testbed::OpenBtree(words[0], options);
    const testbed::TableId table = engine->OpenTable("rows");
    const auto session = engine->NewSession();
    std::string_view value;
    if (words[1] == "put" && words.size() >= 4 && words.size() % 2 == 0) {
      session->Begin();
      for (size_t i = 2; i < words.size(); i += 2) session->Put(table, words[i], words[i + 1]);
      session->Commit();
    } else if (words[1] == "get" && words.size() == 3) {
      if (!session->Get(table, words[2], &value)) return std::cerr << "it is not there\n", 1;
      std::cout << value << '\n';
    } else if (words[1] == "erase" && words.size() == 3) {
      session->Erase(table, words[2]);
    } else if (words[1] == "list" && words.size() <= 3) {
      const auto cursor = session->NewCursor(table);
      for (bool row = cursor->Seek(words.size() == 3 ? words[2] : ""); row; row = cursor->Next()) {
        std::cout << cursor->key() << '\t' << cursor->value() << '\n';
      }
    } else if (words[1] == "backup" && words.size() == 3) {
      engine->Backup(words[2]);
    } else {
      return std::cerr << "there are put KEY VALUE ..., get, erase, list and backup COPY\n", 2;
    }
  } catch (const testbed::Error& error) {
    return std::cerr << error.what() << '\n', error.kind() == testbed::Error::kUsage ? 2 : 1;
  }
}
