// BSON by libbson. libbson's memory functions are replaced by metered ones.
#include <bson/bson.h>

#include <cstdlib>
#include <mutex>

#include "device/error.h"
#include "workloads/documents/allocation_meter.h"
#include "workloads/documents/format.h"

namespace testbed {
namespace {

void* Malloc(size_t n) {
  return AllocationMeter::ThisThread().Metered(n, [n] { return std::malloc(n); });
}
void* Calloc(size_t members, size_t n) {
  return AllocationMeter::ThisThread().Metered(members * n,
                                               [=] { return std::calloc(members, n); });
}
void* Realloc(void* p, size_t n) {
  return AllocationMeter::ThisThread().Metered(n, [=] { return std::realloc(p, n); });
}
void Free(void* p) {
  AllocationMeter::ThisThread().Metered(0, [p] { std::free(p); });
}

void MeterMemory() {
  static std::once_flag once;
  std::call_once(once, [] {
    bson_mem_vtable_t table = {};
    table.malloc = Malloc;
    table.calloc = Calloc;
    table.realloc = Realloc;
    table.free = Free;
    bson_mem_set_vtable(&table);
  });
}

class BsonCodec : public DocumentCodec {
 public:
  BsonCodec(const DocumentShape& shape, DocumentAccess access)
      : attributes_(ExpectedAttributes(shape, 0)), access_(access) {
    MeterMemory();
    bson_init(&answer_);
    bson_init(&document_);
  }
  ~BsonCodec() override {
    bson_destroy(&answer_);
    bson_destroy(&document_);
  }

  void Encode(int64_t id, std::string* document) override {
    bson_reinit(&document_);
    for (const auto& [name, value] : attributes_) {
      const int length = static_cast<int>(name.size());
      const bool fits = name[0] == 'x' ? bson_append_int32(&document_, name.c_str(), length,
                                                           static_cast<int32_t>(value))
                                       : bson_append_int64(&document_, name.c_str(), length, id);
      if (!fits) throw Error(Error::kUsage, "a BSON document of so many attributes is too long");
    }
    document->assign(reinterpret_cast<const char*>(bson_get_data(&document_)), document_.len);
  }

  bool Match(std::string_view document, int64_t id, int64_t y) override {
    bson_iter_t at;
    if (!Begin(document, &at)) return false;
    bool has_id = false, has_y = false;
    while (bson_iter_next(&at)) {
      const std::string_view name(bson_iter_key(&at), bson_iter_key_len(&at));
      if (name == "_id") {
        id_ = bson_iter_as_int64(&at);
        has_id = true;
      } else if (name == "y") {
        y_ = bson_iter_as_int64(&at);
        has_y = true;
      }
      if (access_ == DocumentAccess::kNeeded && has_id && has_y) break;
    }
    return has_id && has_y && id_ == id && y_ == y;
  }

  std::string_view Project() override {
    bson_reinit(&answer_);
    bson_append_int64(&answer_, "_id", 3, id_);
    bson_append_int64(&answer_, "y", 1, y_);
    return {reinterpret_cast<const char*>(bson_get_data(&answer_)), answer_.len};
  }

  Attributes DecodeAnswer(std::string_view answer) override { return Decode(answer); }
  Attributes Decode(std::string_view document) override {
    Attributes attributes;
    bson_iter_t at;
    if (!Begin(document, &at)) return attributes;
    while (bson_iter_next(&at)) {
      attributes.emplace_back(bson_iter_key(&at), bson_iter_as_int64(&at));
    }
    return attributes;
  }

 private:
  static bool Begin(std::string_view document, bson_iter_t* at) {
    return bson_iter_init_from_data(at, reinterpret_cast<const uint8_t*>(document.data()),
                                    document.size());
  }

  const Attributes attributes_;
  const DocumentAccess access_;
  bson_t document_, answer_;
  int64_t id_ = 0, y_ = 0;
};

}  // namespace

std::unique_ptr<DocumentCodec> MakeBsonCodec(const DocumentShape& shape, DocumentAccess access) {
  return std::make_unique<BsonCodec>(shape, access);
}

}  // namespace testbed
