// FlexBuffers and FlatBuffers, whose attributes are found without reading the others. Each codec
// keeps its builder's memory from one document to the next.
//
// A FlatBuffers document contains no names: the schema gives each attribute a number, which is its
// place in the table of offsets. Here DocumentShape is the schema: _id has number 0 and the others
// follow in their order. The codec makes the calls that generated code makes, since N is not known
// at compile time.
#include <flatbuffers/flatbuffers.h>
#include <flatbuffers/flexbuffers.h>

#include "workloads/documents/format.h"

namespace testbed {
namespace {

class FlexbuffersCodec : public DocumentCodec {
 public:
  FlexbuffersCodec(const DocumentShape& shape, DocumentAccess access)
      : attributes_(ExpectedAttributes(shape, 0)),
        access_(access),
        builder_(1024, flexbuffers::BUILDER_FLAG_NONE) {}

  void Encode(int64_t id, std::string* document) override {
    builder_.Clear();
    const size_t start = builder_.StartMap();
    for (const auto& [name, value] : attributes_) {
      builder_.Int(name.c_str(), name[0] == 'x' ? value : id);
    }
    builder_.EndMap(start);
    builder_.Finish();
    document->assign(reinterpret_cast<const char*>(builder_.GetBuffer().data()),
                     builder_.GetSize());
  }

  bool Match(std::string_view document, int64_t id, int64_t y) override {
    const flexbuffers::Map map = MapOf(document);
    if (access_ == DocumentAccess::kWhole) return MatchAll(map, id, y);
    const flexbuffers::Reference found_id = map["_id"], found_y = map["y"];
    if (found_id.IsNull() || found_y.IsNull()) return false;
    id_ = found_id.AsInt64();
    y_ = found_y.AsInt64();
    return id_ == id && y_ == y;
  }

  std::string_view Project() override {
    builder_.Clear();
    const size_t start = builder_.StartMap();
    builder_.Int("_id", id_);
    builder_.Int("y", y_);
    builder_.EndMap(start);
    builder_.Finish();
    return {reinterpret_cast<const char*>(builder_.GetBuffer().data()), builder_.GetSize()};
  }

  Attributes DecodeAnswer(std::string_view answer) override { return Decode(answer); }
  Attributes Decode(std::string_view document) override {
    Attributes attributes;
    const flexbuffers::Map map = MapOf(document);
    const flexbuffers::TypedVector names = map.Keys();
    const flexbuffers::Vector values = map.Values();
    for (size_t i = 0; i < names.size(); ++i) {
      attributes.emplace_back(names[i].AsKey(), values[i].AsInt64());
    }
    return attributes;
  }

 private:
  static flexbuffers::Map MapOf(std::string_view document) {
    return flexbuffers::GetRoot(reinterpret_cast<const uint8_t*>(document.data()), document.size())
        .AsMap();
  }

  bool MatchAll(const flexbuffers::Map& map, int64_t id, int64_t y) {
    const flexbuffers::TypedVector names = map.Keys();
    const flexbuffers::Vector values = map.Values();
    bool has_id = false, has_y = false;
    int64_t sum = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names[i].AsKey();
      const int64_t value = values[i].AsInt64();
      sum += value;
      if (name == "_id") {
        id_ = value;
        has_id = true;
      } else if (name == "y") {
        y_ = value;
        has_y = true;
      }
    }
    looked_at_ = sum;
    return has_id && has_y && id_ == id && y_ == y;
  }

  const Attributes attributes_;
  const DocumentAccess access_;
  flexbuffers::Builder builder_;
  int64_t id_ = 0, y_ = 0;
  volatile int64_t looked_at_ = 0;  // keeps the compiler from dropping the reads
};

class FlatbuffersCodec : public DocumentCodec {
 public:
  FlatbuffersCodec(const DocumentShape& shape, DocumentAccess access)
      : attributes_(ExpectedAttributes(shape, 0)),
        access_(access),
        y_(shape.y_first ? 1 : attributes_.size() - 1) {
    builder_.ForceDefaults(true);
  }

  void Encode(int64_t id, std::string* document) override {
    builder_.Clear();
    const flatbuffers::uoffset_t start = builder_.StartTable();
    for (size_t i = 0; i < attributes_.size(); ++i) {
      if (IsLong(i)) {
        builder_.AddElement<int64_t>(Slot(i), id, 0);
      } else {
        builder_.AddElement<int32_t>(Slot(i), static_cast<int32_t>(attributes_[i].second), 0);
      }
    }
    document->assign(Finished(start));
  }

  bool Match(std::string_view document, int64_t id, int64_t y) override {
    const flatbuffers::Table* table = TableOf(document);
    if (!table->CheckField(Slot(0)) || !table->CheckField(Slot(y_))) return false;
    found_id_ = table->GetField<int64_t>(Slot(0), 0);
    found_y_ = table->GetField<int64_t>(Slot(y_), 0);
    if (access_ == DocumentAccess::kWhole) {
      int64_t sum = 0;
      for (size_t i = 0; i < attributes_.size(); ++i) sum += Value(table, i);
      looked_at_ = sum;
    }
    return found_id_ == id && found_y_ == y;
  }

  std::string_view Project() override {
    builder_.Clear();
    const flatbuffers::uoffset_t start = builder_.StartTable();
    builder_.AddElement<int64_t>(Slot(0), found_id_, 0);
    builder_.AddElement<int64_t>(Slot(1), found_y_, 0);
    return Finished(start);
  }

  Attributes DecodeAnswer(std::string_view answer) override {
    const flatbuffers::Table* table = TableOf(answer);
    return {{"_id", table->GetField<int64_t>(Slot(0), -1)},
            {"y", table->GetField<int64_t>(Slot(1), -1)}};
  }

  Attributes Decode(std::string_view document) override {
    Attributes attributes;
    const flatbuffers::Table* table = TableOf(document);
    for (size_t i = 0; i < attributes_.size(); ++i) {
      if (table->CheckField(Slot(i))) {
        attributes.emplace_back(attributes_[i].first, Value(table, i));
      }
    }
    return attributes;
  }

 private:
  static flatbuffers::voffset_t Slot(size_t i) {
    return flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i));
  }
  static const flatbuffers::Table* TableOf(std::string_view document) {
    return flatbuffers::GetRoot<flatbuffers::Table>(document.data());
  }
  bool IsLong(size_t i) const { return i == 0 || i == y_; }
  int64_t Value(const flatbuffers::Table* table, size_t i) const {
    return IsLong(i) ? table->GetField<int64_t>(Slot(i), 0) : table->GetField<int32_t>(Slot(i), 0);
  }
  std::string_view Finished(flatbuffers::uoffset_t start) {
    builder_.Finish(flatbuffers::Offset<flatbuffers::Table>(builder_.EndTable(start)));
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

  const Attributes attributes_;
  const DocumentAccess access_;
  const size_t y_;  // number of attribute y
  flatbuffers::FlatBufferBuilder builder_;
  int64_t found_id_ = 0, found_y_ = 0;
  volatile int64_t looked_at_ = 0;
};

}  // namespace

std::unique_ptr<DocumentCodec> MakeFlexbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access) {
  return std::make_unique<FlexbuffersCodec>(shape, access);
}

std::unique_ptr<DocumentCodec> MakeFlatbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access) {
  return std::make_unique<FlatbuffersCodec>(shape, access);
}

}  // namespace testbed
