#include "engines/postgres/cluster_files.h"

#include "engines/sql/ownership.h"

namespace testbed::postgres {
namespace {

// Returns the pattern for a hexadecimal number of `digits` digits.
std::string Hex(size_t digits) { return std::string(digits, '~'); }

// Adds the files of the relation `name` in `dir`: its rows, its maps, and the state to which an
// unlogged relation is reset, each in segments of 1 GB.
void AddRelations(const std::string& dir, const std::string& name,
                  std::vector<std::string>* files) {
  for (const char* fork : {"", "_fsm", "_vm", "_init"}) {
    for (const char* segment : {"", ".#"}) files->push_back(dir + name + fork + segment);
  }
}

// Adds the files of a directory of relations: of one database, or of all databases together.
void AddDatabase(const std::string& dir, std::vector<std::string>* files) {
  for (const char* name : {"PG_VERSION", "pg_filenode.map", "pg_filenode.map.tmp",
                           "pg_internal.init", "pg_internal.init.#"}) {
    files->push_back(dir + name);
  }
  AddRelations(dir, "#", files);
  AddRelations(dir, "t#_#", files);  // relations of temporary tables
}

// Adds the segments of the tables that the server keeps in pages of its own, such as the state of
// transactions. Some have long names from PostgreSQL 17 on.
void AddSegments(const std::string& dir, std::vector<std::string>* files) {
  for (const size_t digits : {4, 5, 6, 15}) files->push_back(dir + Hex(digits));
}

void AddLog(const std::string& dir, std::vector<std::string>* files) {
  const std::string segment = Hex(24);
  for (const std::string& name :
       {segment, segment + ".partial", std::string("xlogtemp.#"), Hex(8) + ".history"}) {
    files->push_back(dir + name);
  }
  for (const char* state : {".ready", ".done"}) {
    files->push_back(dir + "archive_status/" + segment + state);
  }
  files->push_back(dir + "summaries/" + Hex(40) + ".summary");
  files->push_back(dir + "summaries/temp.summary");
}

void AddStatistics(const std::string& dir, std::vector<std::string>* files) {
  for (const char* name : {"pgstat", "global", "db_#"}) {
    for (const char* kind : {".stat", ".tmp"}) files->push_back(dir + name + kind);
  }
  files->push_back(dir + "pg_stat_statements.stat");
  files->push_back(dir + "pgss_query_texts.stat");
}

}  // namespace

std::vector<std::string> EngineFiles() {
  std::vector<std::string> files;
  for (const char* name : {"PG_VERSION",
                           "postgresql.conf",
                           "postgresql.auto.conf",
                           "postgresql.auto.conf.tmp",
                           "pg_hba.conf",
                           "pg_ident.conf",
                           "postmaster.pid",
                           "postmaster.opts",
                           "current_logfiles",
                           "current_logfiles.tmp",
                           ".s.PGSQL.#",
                           ".s.PGSQL.#.lock",
                           "global/pg_control",
                           "pg_dynshmem/mmap.#",
                           "pg_logical/replorigin_checkpoint",
                           "pg_logical/replorigin_checkpoint.tmp",
                           "pg_logical/mappings/",
                           "pg_logical/snapshots/",
                           "pg_replslot/",
                           "pg_snapshots/",
                           "pg_tblspc/",
                           "base/pgsql_tmp/pgsql_tmp#.#",
                           "base/pgsql_tmp/pgsql_tmp#.#.sharedfileset/*",
                           "base/pgsql_tmp/pgsql_tmp#.#.fileset/*"}) {
    files.emplace_back(name);
  }
  for (const size_t digits : {8, 16}) files.push_back("pg_twophase/" + Hex(digits));
  AddDatabase("base/#/", &files);
  AddDatabase("global/", &files);
  for (const char* dir : {"pg_wal/", "pg_xlog/"}) AddLog(dir, &files);  // pg_xlog before version 10
  for (const char* dir : {"pg_stat/", "pg_stat_tmp/"}) AddStatistics(dir, &files);
  for (const char* dir : {"pg_commit_ts/", "pg_multixact/members/", "pg_multixact/offsets/",
                          "pg_notify/", "pg_serial/", "pg_subtrans/", "pg_xact/", "pg_clog/"}) {
    AddSegments(dir, &files);
  }
  for (std::string& file : files) file.insert(0, "cluster/");
  const std::string record = SchemaRecordName("postgres");
  files.insert(files.end(), {record, record + ".new", "server.log"});
  return files;
}

}  // namespace testbed::postgres
