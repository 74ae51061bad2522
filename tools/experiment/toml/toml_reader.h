// Reads the keys of a TOML text. What is wrong with one is an Error (kUsage) with the text's name
// and the line.
#ifndef TESTBED_TOOLS_EXPERIMENT_TOML_TOML_READER_H_
#define TESTBED_TOOLS_EXPERIMENT_TOML_TOML_READER_H_

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <set>
#include <string>
#include <vector>

#include "device/error.h"

namespace testbed {

// A base of classes that read a text of their own kind. `origin` is the text's name.
class TomlReader {
 protected:
  TomlReader(const std::string& text, const std::string& origin) : origin_(origin) {
    try {
      root_ = toml::parse(text, origin);
    } catch (const toml::parse_error& error) {
      throw Error(Error::kUsage,
                  fmt::format("{}:{}: {}", origin, error.source().begin.line, error.description()));
    }
  }
  ~TomlReader() = default;

  [[noreturn]] void Refuse(const toml::node& at, const std::string& why) const {
    throw Error(Error::kUsage, fmt::format("{}:{}: {}", origin_, at.source().begin.line, why));
  }

  void CheckKeys(const toml::table& table, const std::set<std::string>& known) const {
    for (const auto& [key, node] : table) {
      if (known.contains(std::string(key.str()))) continue;
      Refuse(node,
             fmt::format("{} is not known here; there are {}", key.str(), fmt::join(known, ", ")));
    }
  }

  const toml::table& AsTable(const toml::node& node, const std::string& what) const {
    if (!node.is_table()) Refuse(node, what + " must be a table");
    return *node.as_table();
  }

  std::string AsText(const toml::node& node) const {
    if (const auto* s = node.as_string()) return s->get();
    if (const auto* i = node.as_integer()) return std::to_string(i->get());
    if (const auto* d = node.as_floating_point()) return fmt::format("{}", d->get());
    if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
    Refuse(node, "a text, a number or true or false is wanted");
  }

  std::vector<std::string> AsTexts(const toml::node& node) const {
    if (!node.is_array()) return {AsText(node)};
    std::vector<std::string> all;
    for (const toml::node& item : *node.as_array()) all.push_back(AsText(item));
    return all;
  }

  std::string Text(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    return node == nullptr ? "" : AsText(*node);
  }

  std::vector<std::string> Texts(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    return node == nullptr ? std::vector<std::string>{} : AsTexts(*node);
  }

  std::string Needed(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) Refuse(table, std::string(key) + " is missing");
    return AsText(*node);
  }

  const std::string origin_;
  toml::table root_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_TOML_TOML_READER_H_
