# shellcheck shell=bash
# Decides which folders a script may empty when the user can name them: only those that a script has made and
# marked with a file. Source it; it defines
#
#   own_mark                         the name of that file
#   own_folder FOLDER [USUAL]        makes the folder, or takes it as it is; fails with a sentence where
#                                    somebody else's files are
#   empty_own_folder FOLDER [USUAL]  the same, and removes all that is in it but the mark
#   is_build_folder FOLDER           whether testbed is built there
#
# USUAL, where the folder is unless the user names another one, and folders right below a build folder are
# taken without a mark: nobody else writes there, and those of earlier versions have none.
# shellcheck disable=SC2034  # the script that sources this file uses it
own_mark=.testbed-own

is_build_folder() { grep -qs '^CMAKE_PROJECT_NAME:STATIC=testbed$' "$1/CMakeCache.txt"; }

may_be_emptied() {
  local path there
  [[ ! -L $1 ]] || return 1
  [[ -e $1 ]] || return 0
  [[ -d $1 ]] || return 1
  [[ ! -f $1/$own_mark ]] || return 0
  path=$(realpath -- "$1") || return 1
  ! is_build_folder "${path%/*}" || return 0
  [[ -z ${2:-} || $path != "$(realpath -m -- "$2")" ]] || return 0
  there=$(ls -A -- "$path") && [[ -z $there ]]
}

own_folder() {
  if ! may_be_emptied "$@"; then
    printf '%s: %s is there, and no script of testbed has made it, so nothing in it is removed; name another folder\n' \
      "${0##*/}" "$1" >&2
    return 1
  fi
  mkdir -p -- "$1" && : >"$1/$own_mark"
}

# The mark stays all the time: a call that is killed leaves a folder that the next one takes.
empty_own_folder() {
  own_folder "$@" || return 1
  find "$(realpath -- "$1")" -mindepth 1 -maxdepth 1 ! -name "$own_mark" -exec rm -rf --one-file-system -- {} +
}
