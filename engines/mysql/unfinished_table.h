// The table that a private server was making when it was killed. Before MariaDB 10.6 a table is
// made in several steps, and a kill between two of them leaves files that the server refuses to
// start with (10.1), or that are no table and let nobody make one of that name.
//
//   unfinished_table::Note(dir, "testbed", "`testbed`.`t`");
//   MakeTable();
//   unfinished_table::Forget(dir);
//
// A note that is there when the database is opened tells that the run was killed in between. The
// table has no rows then: whoever made it had not come to use it.
//
// Functions throw Error (kIo) when the system refuses. `dir` is the directory of the database,
// which has the server's as dir/cluster; `schema` is the server's database.
#ifndef TESTBED_ENGINES_MYSQL_UNFINISHED_TABLE_H_
#define TESTBED_ENGINES_MYSQL_UNFINISHED_TABLE_H_

#include <functional>
#include <string>

namespace testbed::mysql::unfinished_table {

// The note's file, in `dir`.
inline constexpr char kFile[] = "unfinished_table";

// Notes, durably, that a table is about to be made. `table` is its name as statements have it.
void Note(const std::string& dir, const std::string& schema, const std::string& table);
// Removes the note, durably, once the table is made.
void Forget(const std::string& dir);

// Removes the files of a noted table that the server could not open. Called before the server
// starts.
void RemoveBrokenFiles(const std::string& dir, const std::string& schema);
// Removes what is left of a noted table that is none to the server, and then the note. `run` runs a
// statement on the server.
void Repair(const std::string& dir, const std::string& schema,
            const std::function<void(const std::string&)>& run);

}  // namespace testbed::mysql::unfinished_table

#endif  // TESTBED_ENGINES_MYSQL_UNFINISHED_TABLE_H_
