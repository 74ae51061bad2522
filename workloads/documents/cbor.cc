// CBOR by nlohmann/json. With DocumentAccess::kWhole a document becomes a tree, with one allocation
// per attribute, as in programs that decode documents into objects. With kNeeded the document is
// parsed by events, and parsing stops early.
#include <map>
#include <nlohmann/json.hpp>

#include "workloads/documents/allocation_meter.h"
#include "workloads/documents/format.h"

namespace testbed {
namespace {

using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t,
                                  double, MeteredAllocator>;

// Receives the attributes one after the other and keeps _id and y. With `enough` it ends the
// parsing when it has both; when `all` is not null it appends every attribute to *all.
struct Events {
  bool enough = false;
  Attributes* all = nullptr;
  bool has_id = false, has_y = false;
  int64_t id = 0, y = 0;
  enum { kOther, kId, kY } now = kOther;
  std::string name;

  bool Value(int64_t value) {
    if (now == kId) {
      id = value;
      has_id = true;
    } else if (now == kY) {
      y = value;
      has_y = true;
    }
    if (all != nullptr) all->emplace_back(name, value);
    return !(enough && has_id && has_y);
  }
  // The interface that nlohmann's SAX parser calls.
  bool key(std::string& key) {
    now = key == "_id" ? kId : key == "y" ? kY : kOther;
    if (all != nullptr) name = key;
    return true;
  }
  bool number_integer(int64_t value) { return Value(value); }
  bool number_unsigned(uint64_t value) { return Value(static_cast<int64_t>(value)); }
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Json::binary_t&) { return true; }
  bool start_object(size_t) { return true; }
  bool end_object() { return true; }
  bool start_array(size_t) { return true; }
  bool end_array() { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) { return false; }
};

class CborCodec : public DocumentCodec {
 public:
  CborCodec(const DocumentShape& shape, DocumentAccess access)
      : attributes_(ExpectedAttributes(shape, 0)), access_(access) {}

  // Encodes the document without the library, which would sort the attributes by name.
  void Encode(int64_t id, std::string* document) override {
    document->clear();
    PutHead(5, attributes_.size(), document);
    for (const auto& [name, value] : attributes_) {
      PutHead(3, name.size(), document);
      document->append(name);
      const int64_t number = name[0] == 'x' ? value : id;
      PutHead(0, static_cast<uint64_t>(number), document);
    }
  }

  bool Match(std::string_view document, int64_t id, int64_t y) override {
    if (access_ == DocumentAccess::kNeeded) {
      Events events;
      events.enough = true;
      Parse(document, &events);
      id_ = events.id;
      y_ = events.y;
      return events.has_id && events.has_y && id_ == id && y_ == y;
    }
    const Json tree = Json::from_cbor(document.begin(), document.end(), true, false);
    if (!tree.is_object()) return false;
    const auto found_id = tree.find("_id"), found_y = tree.find("y");
    if (found_id == tree.end() || found_y == tree.end()) return false;
    id_ = found_id->get<int64_t>();
    y_ = found_y->get<int64_t>();
    return id_ == id && y_ == y;
  }

  std::string_view Project() override {
    answer_.clear();
    PutHead(5, 2, &answer_);
    PutHead(3, 3, &answer_);
    answer_.append("_id");
    PutHead(0, static_cast<uint64_t>(id_), &answer_);
    PutHead(3, 1, &answer_);
    answer_.append("y");
    PutHead(0, static_cast<uint64_t>(y_), &answer_);
    return answer_;
  }

  Attributes DecodeAnswer(std::string_view answer) override { return Decode(answer); }
  Attributes Decode(std::string_view document) override {
    Attributes attributes;
    Events events;
    events.all = &attributes;
    Parse(document, &events);
    return attributes;
  }

 private:
  // Appends the head of a data item (RFC 8949, section 3), a major type and a number, in the fewest
  // bytes.
  static void PutHead(uint8_t major, uint64_t n, std::string* out) {
    const int bytes = n < 24 ? 0 : n <= 0xff ? 1 : n <= 0xffff ? 2 : n <= 0xffffffff ? 4 : 8;
    const uint8_t more = bytes == 0   ? static_cast<uint8_t>(n)
                         : bytes == 1 ? 24
                         : bytes == 2 ? 25
                         : bytes == 4 ? 26
                                      : 27;
    out->push_back(static_cast<char>(major << 5 | more));
    for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(n >> (8 * i)));
  }
  static void Parse(std::string_view document, Events* events) {
    Json::sax_parse(document.begin(), document.end(), events,
                    nlohmann::detail::input_format_t::cbor, true);
  }

  const Attributes attributes_;
  const DocumentAccess access_;
  std::string answer_;
  int64_t id_ = 0, y_ = 0;
};

}  // namespace

std::unique_ptr<DocumentCodec> MakeCborCodec(const DocumentShape& shape, DocumentAccess access) {
  return std::make_unique<CborCodec>(shape, access);
}

}  // namespace testbed
