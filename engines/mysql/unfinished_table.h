// This header repairs the table that a private server was making when it was killed. Before MariaDB
// 10.6 a table is made in several steps. A kill between two of them leaves files with which the
// server refuses to start (10.1), or which are no table but keep the server from making one of that
// name.
//
//   unfinished_table::Note(dir, "testbed", "`testbed`.`t`");
//   MakeTable();
//   unfinished_table::Forget(dir);
//
// A note that exists when the database is opened tells that the run was killed between Note and
// Forget. The table then has no rows, because it was not used yet.
//
// Functions throw Error (kIo) when the system refuses. `dir` is the directory of the database; the
// server's own directory is dir/cluster. `schema` is the name of the server's database.
#ifndef TESTBED_ENGINES_MYSQL_UNFINISHED_TABLE_H_
#define TESTBED_ENGINES_MYSQL_UNFINISHED_TABLE_H_

#include <functional>
#include <string>

namespace testbed::mysql::unfinished_table {

// This is the name of the note's file, in `dir`.
inline constexpr char kFile[] = "unfinished_table";

// Notes, durably, that a table is about to be made. `table` is its name in statements, in quotes.
void Note(const std::string& dir, const std::string& schema, const std::string& table);
// Removes the note, durably, once the table is made.
void Forget(const std::string& dir);

// Removes those files of the noted table with which the server would refuse to start. The caller
// calls it before it starts the server.
void RemoveBrokenFiles(const std::string& dir, const std::string& schema);
// Removes what is left of the noted table, if the server does not know the table, and then removes
// the note. `run` runs a statement on the server.
void Repair(const std::string& dir, const std::string& schema,
            const std::function<void(const std::string&)>& run);

}  // namespace testbed::mysql::unfinished_table

#endif  // TESTBED_ENGINES_MYSQL_UNFINISHED_TABLE_H_
