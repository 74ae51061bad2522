#include "engines/sql/ownership.h"

#include <unistd.h>

#include <fstream>

#include "device/file/directory.h"
#include "device/file/file.h"

namespace testbed {

SchemaVerdict Judge(const std::string& record, bool schema_is_there,
                    const std::optional<SchemaMarker>& marker, const std::string& dir,
                    const std::string& file) {
  if (!schema_is_there) return record.empty() ? SchemaVerdict::kMake : SchemaVerdict::kLost;
  if (!marker) return SchemaVerdict::kForeign;
  if (marker->id == record) return SchemaVerdict::kOpen;
  if (!record.empty()) return SchemaVerdict::kLost;
  // A schema whose directory no longer has its record serves nobody.
  const bool here = marker->host == HostName();
  const bool used = ReadSchemaRecord(marker->directory + "/" + file) == marker->id;
  return here && (marker->directory == dir || !used) ? SchemaVerdict::kReplace
                                                     : SchemaVerdict::kOthers;
}

std::string ReadSchemaRecord(const std::string& path) {
  std::ifstream in(path);
  std::string id;
  std::getline(in, id);
  return id;
}

void WriteSchemaRecord(const std::string& path, const std::string& id) {
  const std::string making = path + ".new";
  RemoveFile(making);
  FileOptions options;
  options.create = FileOptions::kMustCreate;
  options.kind = FileKind::kMeta;
  {
    const std::unique_ptr<File> file = File::Open(making, options);
    const std::string text = id + "\n";
    file->Write(0, text.data(), text.size());
    file->Sync();
  }
  RenameFile(making, path);
  SyncDirectory(path.substr(0, path.rfind('/')));
}

std::string HostName() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  return name;
}

}  // namespace testbed
