#include "workloads/documents/format.h"

#include "device/error.h"

namespace testbed {

const std::vector<std::string>& DocumentFormats() {
  static const std::vector<std::string> formats = {"bson", "cbor", "flexbuffers", "flatbuffers"};
  return formats;
}

std::unique_ptr<DocumentCodec> MakeDocumentCodec(const std::string& format,
                                                 const DocumentShape& shape,
                                                 DocumentAccess access) {
  if (format == "bson") return MakeBsonCodec(shape, access);
  if (format == "cbor") return MakeCborCodec(shape, access);
  if (format == "flexbuffers") return MakeFlexbuffersCodec(shape, access);
  if (format == "flatbuffers") return MakeFlatbuffersCodec(shape, access);
  throw Error(Error::kUsage, "document format " + format +
                                 " is not known; there are bson, cbor, flexbuffers, flatbuffers");
}

Attributes ExpectedAttributes(const DocumentShape& shape, int64_t id) {
  Attributes attributes = {{"_id", id}};
  if (shape.y_first) attributes.emplace_back("y", id);
  for (uint32_t k = 1; k <= shape.attributes; ++k) {
    attributes.emplace_back("x" + std::to_string(k), k);
  }
  if (!shape.y_first) attributes.emplace_back("y", id);
  return attributes;
}

}  // namespace testbed
