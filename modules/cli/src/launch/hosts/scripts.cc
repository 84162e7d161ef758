// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/scripts.h"

#include <cstdio>

namespace shoal::cli::launch {
namespace {

// Each script consists of functions that its last line calls, so a script that was cut off does nothing. The scripts need
// POSIX, and besides that setsid, getent and the files of /proc.

constexpr const char* kShared = R"sh(
say() { printf '%s %s\n' "$mark" "$*"; }
one_line() { printf '%s' "$*" | tr '\n' ' '; }
# When a process was started, by which it is told from another one that has got its number.
since() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
note() { printf '%s %s\n' "$1" "$(since "$1")"; }
# Kills the groups of processes that a session has noted, and waits until they are gone.
kill_noted() {
  while read -r id start; do
    now=$(since "$id")
    [ -z "$now" ] || [ "$now" = "$start" ] || continue
    kill -s KILL -- "-$id" 2>/dev/null
    kill -s KILL "$id" 2>/dev/null
    looks=0
    while kill -s 0 -- "-$id" 2>/dev/null && [ "$looks" -lt 20 ]; do sleep 0.1; looks=$((looks + 1)); done
  done <"$1"
  rm -f -- "$1"
}
)sh";

constexpr const char* kPrepare = R"sh(
fail() { say "failed $(one_line "$*")"; rm -rf -- "$folder"; exit 0; }
prepare() {
  cd -- "$work_folder" 2>/dev/null ||
    { say "failed there is no folder $work_folder; --remote-dir names another one"; exit 0; }
  command -v setsid >/dev/null || { say "failed there is no setsid, a program of util-linux and of busybox"; exit 0; }
  why=$(umask 077 && mkdir -- "$folder" 2>&1) ||
    { say "failed no folder can be made for the job: $(one_line "$why"); --remote-tmp names another place"; exit 0; }
  if [ -n "$copy" ]; then
    why=$(cat 2>&1 >"$folder/$copy") || fail "the program cannot be written: $why; --remote-tmp names another place"
    got=$(cksum <"$folder/$copy")
    [ "$got" = "$copy_sum" ] || fail "the program has arrived damaged (cksum $got, expected $copy_sum)"
    why=$(chmod 700 -- "$folder/$copy" 2>&1) || fail "$why"
    [ -x "$folder/$copy" ] || fail "no program may be run in $folder (mounted noexec?); --remote-tmp names another place"
  else
    case $program in
      */*) { [ -f "$program" ] && [ -x "$program" ]; } ;;
      *) command -v -- "$program" >/dev/null ;;
    esac || fail "$program: there is no such program that may be run, seen from $work_folder;" \
      "--copy sends the one of this machine"
  fi
  if command -v getent >/dev/null; then
    for name in "$@"; do
      found=$(getent ahostsv4 "$name" || getent hosts "$name")
      say "address $name ${found%%[!0-9a-fA-F:.]*}"
    done
  fi
  ports=
  for table in /proc/net/tcp /proc/net/tcp6; do
    [ -r "$table" ] || continue
    while read -r number address rest; do ports="$ports ${address##*:}"; done <"$table"
  done
  say "taken$ports"
  say ready
}
prepare "$@"
)sh";

constexpr const char* kSupervise = R"sh(
listens() { [ -n "$port" ] && cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":$port [0-9A-F]*:0000 0A "; }
runs() { kill -s 0 -- "-$program" 2>/dev/null; }
# To all of its session; to itself where it has not got one yet.
send() { kill -s "$1" -- "-$program" 2>/dev/null || kill -s "$1" "$program" 2>/dev/null; }
# Not by `:`, after which a shell ends where the file cannot be written.
end() { true >"$killed"; send KILL; }
# Words from whoever started the session; its end is a word, too.
heed() {
  while IFS= read -r word <&3; do
    case $word in
      beat) kill -s USR1 "$watch" 2>/dev/null ;;
      term) true >"$told"; send TERM ;;
      kill) end ;;
    esac
  done
  end
}
# Nobody has said a word for a minute: a connection may be cut without an end.
watch_silence() {
  trap 'silent=0' USR1
  silent=0
  while [ "$silent" -lt "$silent_looks" ]; do sleep 5; silent=$((silent + 1)); done
  end
}
watch_port() {
  looks=0
  until listens; do
    looks=$((looks + 1))
    [ "$looks" -lt 300 ] || return
    sleep 0.2
  done
  say listens
}
supervise() {
  trap '' PIPE
  exec 3<&0 </dev/null
  notes=$folder/$task.notes told=$folder/$task.told killed=$folder/$task.killed
  [ ! -e "$notes" ] || kill_noted "$notes"
  cd -- "$work_folder" || { say "failed there is no folder $work_folder any more"; exit 0; }
  note "$$" 2>/dev/null >"$notes" || { say "failed $folder is gone, or full"; exit 0; }
  rm -f -- "$folder/$task.json" "$told" "$killed"
  say begun
  (task_environment; exec setsid "$@") 3<&- &
  program=$!
  note "$program" >>"$notes"
  watch_silence >/dev/null 2>&1 3<&- &
  watch=$!
  heed >/dev/null 2>&1 &
  heed=$!
  ears=
  if [ -n "$port" ]; then
    watch_port 2>/dev/null 3<&- &
    ears=$!
  fi
  # This shell has no traps: where one is due as a child ends, its status may be lost.
  wait "$program" 2>/dev/null
  status=$?
  # What it has left behind: it may take its time, if all were asked to leave.
  while [ -e "$told" ] && [ ! -e "$killed" ] && runs; do sleep 0.2; done
  kill -s KILL -- "-$program" 2>/dev/null
  # One by one, and not by a signal that they may not have learnt yet how to take.
  for own in "$heed" "$watch" $ears; do kill -s KILL "$own" 2>/dev/null; done
  rm -f -- "$notes" "$told" "$killed"
  taken=
  if [ "$status" -ne 0 ] && listens; then taken=' taken'; fi
  [ ! -s "$folder/$task.json" ] || say "report $(tr -d '\n' <"$folder/$task.json")"
  say "ended $status$taken"
}
supervise "$@"
)sh";

constexpr const char* kClean = R"sh(
clean() {
  [ -d "$folder" ] || { say removed; exit 0; }
  for notes in "$folder"/*.notes; do [ ! -e "$notes" ] || kill_noted "$notes"; done
  why=$(rm -rf -- "$folder" 2>&1) && say removed || say "failed $(one_line "$why")"
}
clean
)sh";

std::string assignment(std::string_view name, const std::string& value) {
  return std::string(name) + "=" + shell_word(value) + "\n";
}

/// Returns a line of shell, "set -- ...", which makes `texts` the values of "$1", "$2", ... in the script.
std::string words(const std::vector<std::string>& texts) {
  std::string line = "set --";
  for (const std::string& text : texts) line += " " + shell_word(text);
  return line + "\n";
}

std::string port_text(uint16_t port) {
  char digits[8] = "";
  if (port != 0) std::snprintf(digits, sizeof digits, "%04X", unsigned(port));
  return digits;
}

}  // namespace

std::string bootstrap(size_t script_bytes) {
  // dd reads byte by byte (bs=1). With larger blocks it could also take bytes that follow the script, and the script could
  // not read these. The text between the two single quotes contains no single quote, so that any login shell of the user
  // can run the command.
  return "exec /bin/sh -c 'script=$(dd bs=1 count=" + std::to_string(script_bytes) + " 2>/dev/null) && eval \"$script\"'";
}

std::string preparing_script(const Preparation& preparation) {
  return assignment("mark", preparation.mark) + assignment("folder", preparation.folder) +
         assignment("work_folder", preparation.work_folder) + assignment("program", preparation.program) +
         assignment("copy", preparation.copy_name) + assignment("copy_sum", preparation.copy_sum) +
         words(preparation.addresses) + kShared + kPrepare;
}

std::string supervising_script(const Supervision& supervision) {
  std::string environment = "task_environment() {\n:\n";
  for (const auto& [name, value] : supervision.variables) environment += "export " + name + "=" + shell_word(value) + "\n";
  environment += "}\n";
  return assignment("mark", supervision.mark) + assignment("folder", supervision.folder) +
         assignment("work_folder", supervision.work_folder) + assignment("task", supervision.task) +
         assignment("port", port_text(supervision.port)) +
         assignment("silent_looks", std::to_string(supervision.silent_looks)) + environment + words(supervision.command) +
         kShared + kSupervise;
}

std::string cleaning_script(const std::string& mark, const std::string& folder) {
  return assignment("mark", mark) + assignment("folder", folder) + kShared + kClean;
}

}  // namespace shoal::cli::launch
