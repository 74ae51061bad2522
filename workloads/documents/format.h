// The documents of the workloads document-load and document-query, and the formats that they can be
// stored in. A document has the attributes _id, x1 to xN and y. The value of xK is K, and the value
// of y is that of _id. y comes directly after _id, or last.
//
//   auto codec = MakeDocumentCodec("bson", {1000, false}, DocumentAccess::kWhole);
//   codec->Encode(7, &document);
//   if (codec->Match(document, 7, 7)) answer = codec->Project();   // a document of _id and y
//
// | format        | how an attribute is found                                               |
// |---------------|-------------------------------------------------------------------------|
// | bson          | by walking elements of varying length, each with its name (libbson)     |
// | cbor          | by parsing into a tree, or into an event per attribute (nlohmann/json)  |
// | flexbuffers   | by binary search among names, which are kept sorted                     |
// | flatbuffers   | by number, in a table of offsets; only the schema has names             |
#ifndef TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_
#define TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace testbed {

struct DocumentShape {
  uint32_t attributes = 10;  // N: there are x1 to xN
  bool y_first = false;
};

// The part of a document that a query reads.
enum class DocumentAccess : uint8_t {
  kWhole,   // all attributes, as in a server that parses a document before it projects
  kNeeded,  // no more than is needed to find _id and y
};

using Attributes = std::vector<std::pair<std::string, int64_t>>;

// Encodes and reads documents of a format. A codec keeps its memory from one document to the next.
// Not thread-safe: each thread has its own.
class DocumentCodec {
 public:
  virtual ~DocumentCodec() = default;
  // Replaces *document by the document of this id. Equal ids give equal bytes. Throws Error
  // (kUsage) when the format cannot hold so long a document.
  virtual void Encode(int64_t id, std::string* document) = 0;
  // Returns whether the document has these values of _id and y, and keeps its values for Project.
  virtual bool Match(std::string_view document, int64_t id, int64_t y) = 0;
  // Returns a new document of the _id and y that Match found. Valid until the codec's next call.
  virtual std::string_view Project() = 0;
  // Returns the attributes of a document that Project made, in the order in which they are stored.
  virtual Attributes DecodeAnswer(std::string_view answer) = 0;
  // Returns the attributes of a document that Encode made, in the order in which they are stored.
  virtual Attributes Decode(std::string_view document) = 0;
};

// Returns the names of the formats: "bson", "cbor", "flexbuffers", "flatbuffers".
const std::vector<std::string>& DocumentFormats();

// Returns a codec. Throws Error (kUsage) when the format is not known.
std::unique_ptr<DocumentCodec> MakeDocumentCodec(const std::string& format,
                                                 const DocumentShape& shape, DocumentAccess access);

// Returns the attributes of the document of an id, in the order in which they are encoded.
Attributes ExpectedAttributes(const DocumentShape& shape, int64_t id);

// MakeDocumentCodec calls these, each of which makes the codec of one format.
std::unique_ptr<DocumentCodec> MakeBsonCodec(const DocumentShape& shape, DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeCborCodec(const DocumentShape& shape, DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeFlexbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeFlatbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_
