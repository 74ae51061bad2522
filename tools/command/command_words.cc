#include "tools/command/command_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/output/json_text.h"
#include "tools/unused_options.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the length of the control character that the text begins with; 0 when it begins with
// none. What only breaks or indents a line counts as none.
size_t ControlBytes(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  // In UTF-8, U+0080 to U+009F are two bytes.
  if (byte(0) == 0xc2 && text.size() > 1 && (byte(1) & 0xe0) == 0x80) return 2;
  const bool layout = text[0] == '\t' || text[0] == '\n';
  return (byte(0) < 0x20 && !layout) || byte(0) == 0x7f ? 1 : 0;
}

// Returns the word as a shell reads it. A terminal must show a command that comes from a foreign
// file and not obey it, so a control character is written as the call of printf that prints it.
std::string ShellWord(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.,:/+%@^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string line, shown, control;
  const auto end_part = [&] {
    if (!shown.empty()) line += SingleQuoted(shown);
    if (!control.empty()) line += "\"$(printf '" + control + "')\"";
    shown.clear();
    control.clear();
  };
  for (size_t i = 0; i < word.size();) {
    const size_t n = ControlBytes(std::string_view(word).substr(i));
    if (n == 0) {
      if (!control.empty()) end_part();
      shown += word[i++];
      continue;
    }
    if (!shown.empty()) end_part();
    for (const size_t end = i + n; i < end; ++i) {
      control += fmt::format("\\{:03o}", static_cast<unsigned char>(word[i]));
    }
  }
  end_part();
  return line.empty() ? SingleQuoted("") : line;
}

// Returns a list of words at `name` of the document; an empty one when it is something else.
std::vector<std::string> WordsAt(const json& document, const char* name) {
  std::vector<std::string> words;
  const json none = json::array();
  for (const json& word : document.value(name, none)) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

// Returns whether the words give the setting `name` of the option, as "--engine-option
// bloom_bits=4". A label or a file may have the same text.
bool GivesSetting(const std::vector<std::string>& words, const std::string& option,
                  const std::string& name) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(option + "=" + name + "=")) return true;
    const bool has_value = words[i] == option && i + 1 < words.size();
    if (has_value && words[i + 1].starts_with(name + "=")) return true;
  }
  return false;
}

// Appends those settings of an option with named values, such as --engine-option, that `words` do
// not give.
void AddSettings(const json& settings, const std::string& option,
                 const std::vector<std::string>& words, std::vector<std::string>* more) {
  if (!settings.is_object()) return;
  for (const auto& [name, value] : settings.items()) {
    if (GivesSetting(words, option, name) || !value.is_string()) continue;
    more->push_back(option);
    more->push_back(name + "=" + value.get<std::string>());
  }
}

// Appends the engine's own options of the record, unless the words name another engine. The record
// has the number of a release, which the words may call by another name (rocksdb@latest). A variant
// of the engine is such an option; it is left out when the words name the engine, because they then
// name the variant as well. The server is another; --server and --connect replace that of the
// record.
void AddEngineSettings(const json& record, const std::vector<std::string>& words,
                       std::vector<std::string>* more) {
  json settings = record.value("engine_options", json::object());
  const auto without_release = [](const std::string& name) {
    return name.substr(0, name.find_first_of(":@"));
  };
  const std::string engine = without_release(ValueGiven(words, "--engine"));
  const json loaded = record.value("engine", json());
  const bool same = loaded.is_string() && without_release(loaded.get<std::string>()) == engine;
  if (!engine.empty() && !same) return;
  for (const EngineInfo& info : Engines()) {
    if (info.name == engine && settings.is_object()) settings.erase(info.variants);
  }
  if (settings.is_object() && (Gives(words, "--server") || Gives(words, "--connect"))) {
    settings.erase("server");
    settings.erase("connect");
  }
  AddSettings(settings, "--engine-option", words, more);
}

// Returns the text of an option in the document of a run; "" where it has none.
std::string OptionAt(const json& document, const char* name) {
  const json options = document.value("options", json());
  if (!options.is_object() || !options.contains(name)) return "";
  const json& text = options.at(name);
  return text.is_string() ? text.get<std::string>() : "";
}

// Returns the words without options that change nothing in the run of the document, whose rows are
// drawn by this distribution, and with the workloads of the words. The cells of an experiment share
// options, of which a single run refuses those that it has no use for (tools/unused_options.h).
std::vector<std::string> WithoutUnused(std::vector<std::string> words,
                                       const std::string& distribution, const json& document) {
  if (distribution != "zipfian" && distribution != "scrambled" && distribution != "latest") {
    words = WithoutOption(words, "--zipf-theta");
  }
  if (distribution != "hot") {
    words = WithoutOption(WithoutOption(words, "--hot-fraction"), "--hot-probability");
  }
  const std::string io = OptionAt(document, "io");
  if (io != "mmap") words = WithoutOption(words, "--mmap-advice");
  if (io == "direct") words = WithoutOption(words, "--file-advice");
  for (const EngineInfo& info : Engines()) {
    if (info.name != OptionAt(document, "engine") || info.capabilities.file_layer) continue;
    std::erase_if(words,
                  [](const std::string& word) { return Gives({word}, "--readahead-model"); });
  }
  if (OptionAt(document, "durability") == "sync") words = WithoutOption(words, "--lazy-interval");
  return WithoutUndrawn(WithoutRivals(words));
}

}  // namespace

std::string SingleQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string ShellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellWord(word);
  return line;
}

bool Gives(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

std::string ValueGiven(const std::vector<std::string>& words, const std::string& option) {
  std::string value;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(option + "=")) value = words[i].substr(option.size() + 1);
  }
  return value;
}

std::vector<std::string> WithoutOption(const std::vector<std::string>& words,
                                       const std::string& option) {
  std::vector<std::string> others;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option) {
      ++i;  // its value
    } else if (!words[i].starts_with(option + "=")) {
      others.push_back(words[i]);
    }
  }
  return others;
}

std::string RepeatCommand(const json& document) {
  const std::vector<std::string> load =
      WithoutUnused(WordsAt(document, "load_command"), "", document);
  const std::vector<std::string> run =
      WithoutUnused(WordsAt(document, "command"), OptionAt(document, "distribution"), document);
  if (run.empty() || !run.front().starts_with("-")) {
    throw Error(Error::kUsage,
                "these results do not tell the command that made them: an earlier version wrote "
                "them");
  }
  std::string text;
  if (!load.empty()) text += "testbed " + ShellLine(load) + "\n";
  return text + "testbed " + ShellLine(run) + "\n";
}

std::vector<std::string> WordsOfRecord(const json& record, const std::vector<std::string>& words) {
  std::vector<std::string> more;
  const auto add = [&](const std::string& option, const json& value) {
    if (Gives(words, option)) return;
    if (!value.is_string() && !value.is_number()) return;
    more.push_back(option);
    more.push_back(value.is_string() ? value.get<std::string>() : JsonText(value));
  };
  const auto at = [&record](const char* name) { return record.value(name, json()); };
  add("--engine", at("engine"));
  add("--page-size", at("page_size"));
  add("--compression", at("compression"));
  add("--databases", at("databases"));
  add("--compressibility", at("compressibility"));
  add("--indexes", at("indexes"));
  add("--seed", at("seed"));
  add("--value-size", at("value_size"));
  add("--key-size", at("key_size"));
  if (const json keys = at("keys"); keys.is_object()) {
    // The options for the order and the number of rows are left out: both follow from the file of
    // keys.
    if (!Gives(words, "--key-order")) add("--keys", keys.value("name", json()));
  } else if (!Gives(words, "--keys")) {
    add("--key-order", at("key_order"));
    if (!Gives(words, "--db-ratio")) add("--rows", at("rows"));
  }
  AddSettings(at("workload_option"), "--workload-option", words, &more);
  AddEngineSettings(record, words, &more);
  return more;
}

}  // namespace testbed
