#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gets past the Environment, checked on the source text.

usage: check_escapes.py ROOT           prints every escape as FILE:LINE: SENTENCE and ends with status 1 if there is one
       check_escapes.py --list ROOT    prints who may do what, and why, as a table; then the same

Clocks, threads, files, randomness, and what a process knows of itself come in through Environment&, so that a whole
cluster runs in one deterministic test. Nothing warns of code that asks the system itself: it works, until a simulated
run differs from itself. So modules, backends and transports name none of what KINDS lists, outside the files of ALLOWED.

What two of them find is no way past the Environment: json is a call that throws for what data may hold, locale one that gives
other texts in other countries.

This reads text, not types. It knows functions by their names and headers by what they declare; a library that does such
things inside (OpenMP, OpenSSL, zlib) is seen only where it is called by a name that stands here.
"""
import fnmatch
import pathlib
import re
import sys

import plugins
from check_coroutines import code_of

TOPS = ("modules", "backends", "transport")
PLUGINS = "Plug-ins, as the CMakeLists.txt of their folders say"


def calls(*names):
    """Of functions of the system: bare, ::name or std::name; not methods, nor functions of ours in a namespace."""
    return r"(?<![\w.>:])(?:std::|::)?(?:" + "|".join(names) + r")\s*\("


def qualified(*names):
    """The same where ours have such names too: ::name or std::name."""
    return r"(?<![\w>\]:])(?:std::|::)(?:" + "|".join(names) + r")\s*\("


def headers(*names):
    return r"#\s*include\s*<(?:" + "|".join(names) + r")>"


# Name, what it finds, and what to do instead. The last kind finds what the others leave.
KINDS = {
    "clock": ("asks a clock of the system; Environment::now() and wall_now() are those of the task", "|".join((
        r"\b\w*[cC]lock::now\b", r"\b__rdtsc", headers("sys/time\\.h"), qualified("time", "clock"),
        r"(?<![\w.>])time\s*\(\s*(?:NULL|nullptr|0|&)",
        calls("clock_gettime", "gettimeofday", "timespec_get", "localtime(?:_r)?")))),
    "sleep": ("sleeps; Environment::sleep_for() lets time pass, block_until() in blocking work", "|".join((
        r"this_thread::sleep_\w+", qualified("sleep"), calls("usleep", "nanosleep", "clock_nanosleep")))),
    "thread": ("starts or names threads or processes; offload() and pool() have those of the task", "|".join((
        r"\bstd::(?:jthread|thread|this_thread|async)\b(?!::sleep)", r"\bpthread_\w+", r"\.detach\s*\(",
        headers("thread", "future", "pthread\\.h", "spawn\\.h", "sys/wait\\.h"), qualified("clone", "system", "wait"),
        calls("v?fork", "exec[lv]p?e?", "posix_spawnp?", "popen", "waitpid")))),
    "lock": ("locks or waits for threads; state belongs to one strand, and Event waits on it", "|".join((
        r"\bstd::(?:\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable\w*|\w*_semaphore|barrier|"
        r"latch|call_once|once_flag|future|promise)\b",
        headers("mutex", "shared_mutex", "condition_variable", "semaphore(?:\\.h)?", "barrier", "latch")))),
    "global": ("is a mutable global, which outlives a run; state belongs to the task", "|".join((
        r"\bthread_local\b", r"(?m:^[ \t]*static[ \t]+(?!const|thread_local|inline)[\w:<>, *&]+[ \t]\w+[ \t]*(?:=|;|\{))",
        r"(?m:^(?:inline )?(?:bool|float|double|char|(?:std::)?(?:int|u?int\d*_t|size_t|string|atomic|vector|map|set|"
        r"function)(?:<[^;()]*>)?)[ \t]+(?!operator)\w+[ \t]*(?:=|;|\{))"))),
    "variable": ("reads the environment variables; programs look them up and pass them in", "|".join((
        r"\b(?:secure_)?getenv\s*\(", calls("setenv", "unsetenv", "putenv", "clearenv"), r"\benviron\b"))),
    "file": ("touches files; Environment::storage() has those of the task", "|".join((
        r"\bstd::(?:basic_)?[io]?f(?:stream|ilebuf)\b", r"\bfilesystem::(?!path\b)\w+",
        r"\bnamespace\s+\w+\s*=\s*std::filesystem\b", r"\busing\s+namespace\s+std::filesystem\b",
        headers("fstream", "fcntl\\.h", "dirent\\.h", "glob\\.h", "ftw\\.h", "sys/(?:stat|mman|file|uio|statvfs)\\.h"),
        calls("f(?:d|re)?open", "tmpfile", "tmpnam", "mkd?s?temps?"), r"\bstd::rename\s*\(",
        r"(?<![\w>\]])::(?:open(?:at)?|creat|close|p?readv?|p?writev?|l?seek|f?l?stat(?:at)?|fstatat|f?truncate|fsync|"
        r"fdatasync|flock|fcntl|access|unlink(?:at)?|link|symlink|readlink|mkdir(?:at)?|rmdir|rename(?:at)?|remove|"
        r"f?chmod|opendir|readdir|closedir|dirfd|mmap|munmap|memfd_create|shm_open|shm_unlink|realpath|chdir|getcwd)"
        r"\s*\("))),
    "random": ("draws from elsewhere than the seed; Environment::entropy() or a RandomKey", "|".join((
        r"\bstd::(?:random_device|mt19937\w*|default_random_engine|minstd_rand0?|ranlux\w+|knuth_b|random_shuffle)\b",
        headers("random", "sys/random\\.h"), r"\bRAND_(?:priv_)?bytes\b",
        qualified("s?random"), calls("s?rand", "rand_r", "[dlm]rand48", "getentropy", "getrandom", "arc4random\\w*")))),
    "host": ("asks what this process is or where it runs; Environment::process() knows it", "|".join((
        r"\bhardware_concurrency\b", r"\bdl(?:sym|open)\b",
        headers("dlfcn\\.h", "sched\\.h", "ifaddrs\\.h", "pwd\\.h", "sys/(?:ioctl|resource|utsname|sysinfo|auxv)\\.h"),
        calls("gethostname", "uname", "getp?pid", "gettid", "gete?[ug]id", "sysconf", "pathconf", "getpagesize",
              "sched_\\w+", "get_nprocs\\w*", "getrlimit", "getrusage", "sysinfo", "isatty", "ttyname", "ioctl",
              "getifaddrs", "getpwuid\\w*", "getauxval")))),
    "network": ("talks to the network; Environment::transport() has that of the task", "|".join((
        r"\bboost::(?:asio|beast)\b",
        headers("sys/(?:socket|un|epoll)\\.h", "netinet/\\w+\\.h", "arpa/\\w+\\.h", "netdb\\.h", "poll\\.h"),
        r"(?<![\w>\]])::(?:socket(?:pair)?|bind|listen|accept4?|connect|send(?:to|msg)?|recv(?:from|msg)?|[gs]etsockopt|"
        r"poll|select|epoll_\w+|inet_\w+|getaddrinfo|freeifaddrs)\s*\("))),
    "print": ("prints; Environment::log() has the task's log, and programs get their streams passed in", "|".join((
        r"\bstd::w?c(?:out|err|log|in)\b", r"\bstd(?:out|err|in)\b", headers("iostream"),
        calls("v?f?printf", "fputs", "fputc", "puts", "putchar", "perror", "fwrite")))),
    "json": ("calls the library's printer, which throws for bytes that are no UTF-8, or its parser, which is compiled anew in each "
             "source; json::text_of() and json::parse_value() are compiled once", r"\.dump\s*\(|\b(?:\w*Json|json)::parse\s*\("),
    "locale": ("writes or reads numbers as the program's locale has them; formatted() and number_from() do not", "|".join((
        calls("v?sn?printf", "v?sscanf", "strto(?:d|f|ld)", "atof", "setlocale"),
        qualified("sto(?:d|f|ld)")))),
    "edge": ("is for where a program begins: what it gives is passed in from there", r"(?!)"),  # by name: see EDGES
    "system": ("calls the operating system", "|".join((
        r"(?<![\w>\]])::(?!new\b|operator\b|gmtime_r\b)[a-z]\w*\s*\(",  # gmtime_r() only computes
        headers("unistd\\.h", "signal\\.h", "csignal", "syslog\\.h", "sys/(?!types\\.h)\\w+\\.h", "linux/.*"),
        qualified("signal", "raise", "abort", "_?exit", "_Exit"), calls("sigaction", "syscall")))),
}

# Functions that look something up, or make what does, for programs; and where they are declared and defined.
EDGES = {
    "read_wall_clock": "modules/base/*/time.h modules/base/src/wall_clock.cc",
    "read_process_info": "modules/base/*/process_info.*",
    "read_cgroup_limits": "modules/base/*/cgroup.*",
    "count_cores": "modules/base/*/topology.*",
    "make_production_environment": "modules/base/*/production.*",
    "make_file_storage": "modules/base/*/storage.h modules/base/src/file_storage.cc",
    "stderr_sink": "modules/base/*/log.*",
    "write_promptly": "modules/base/*/prompt_write.*",
    "process_getenv": "modules/cluster/*/tf_config.h modules/cluster/src/job/task_config.cc",
    "process_host": "modules/estimator/*/task_host.h modules/estimator/src/task/process_host.cc",
    "process_shoal_run": "modules/estimator/*/task_host.h modules/estimator/src/task/process_host.cc",
    "read_terminal": "modules/monitor/*/terminal.*",
    "read_output_terminal": "modules/monitor/*/terminal.*",
    "output_is_terminal": "modules/monitor/*/terminal.*",
    "write_to_stderr": "modules/monitor/*/terminal.*",
    "measure_machine_limits": "backends/*/machine_limits.*",
    "find_credential": "transport/*/credential.*",
    "read_key_pair": "transport/*/credential.*",
    "find_token": "transport/*/token.h transport/src/token_sources.cc",
    "read_owned_file": "transport/src/owned_file.*",
}

# Files (patterns), the kinds that they may do, and why. One that is no longer needed is an error, too. Plug-ins say in their
# own folders what they may (plugins.py).
ALLOWED = {
    "The production environment: what others reach through Environment&": [
        ("modules/base/src/loop.*", "thread lock clock network", "the strand: its queue, its steady clock, its thread"),
        ("modules/base/*/event_loop.h", "network", "names the context that the strand runs, for tcp and shm"),
        ("modules/base/src/loop_wait.h", "network", "how the strand sleeps: with sockets, or without"),
        ("modules/base/src/loop_wait_asio.cc", "network", "the strand sleeps until a socket or a timer is ready"),
        ("modules/base/src/loop_wait_plain.cc", "lock network", "the same in a build without sockets"),
        ("modules/base/src/compute_thread.*", "thread lock", "offload()"),
        ("modules/base/src/pool.*", "thread lock", "pool() and parallel_for()"),
        ("modules/base/src/wall_clock.cc", "clock", "wall_now(), 64 bits wide on every machine"),
        ("modules/base/src/production.cc", "sleep network random edge",
         "makes it of these; entropy(), wall_now(), block_until()"),
        ("modules/base/src/file_storage.cc", "file locale random system",
         "storage(); names that no other process gives, written as whole numbers"),
        ("modules/base/src/missing_path.cc", "file system", "why a path leads nowhere, for errors of storage()"),
        ("modules/base/src/process_info.cc", "thread file host edge system", "process()"),
        ("modules/base/src/own_thread.cc", "host variable", "which processors threads may use, and what OpenMP has made of that"),
        ("modules/base/src/fork.cc", "thread global", "counts calls of fork(), whose handlers reach globals alone"),
        ("modules/base/src/standard_descriptors.cc", "file global lock system", "descriptors 0 to 2, which all of a process shares"),
        ("modules/base/*/kernel_file.*", "file system", "lines of /proc and /sys, for process() and meters"),
        ("modules/base/src/resident_bytes.cc", "file host system", "how much memory this process has, for limits that a user sets"),
        ("modules/base/src/memory_limit.cc", "host edge system", "how much memory this process may have, for process()"),
        ("modules/base/*/start_thread.*", "thread", "a thread of these, or why there is none"),
        ("modules/base/src/exhaustion.cc", "file host global locale edge system",
         "limits, for people, written where no memory is left; handlers of a whole program, which reach globals alone"),
        ("modules/base/src/crc32c.cc", "host", "which instructions the processor has; a checksum is the same with and without them"),
        ("modules/base/src/signals.*", "thread lock clock file global edge system",
         "interrupted(): handlers reach globals alone, and tell two signals of one request by when they came"),
        ("modules/base/src/write_signals.cc", "system", "of a whole program: writes that fail give an error, and end nothing"),
        ("modules/base/src/prompt_write.cc", "clock sleep file host network system",
         "writes to a standard stream without waiting for whoever reads it"),
        ("modules/base/src/log.cc", "clock host locale lock thread edge system",
         "stderr_sink() and its local time, in whole numbers; a Logger; guarded_sink() knows a call from within"),
        ("modules/base/src/memory_storage.cc", "edge lock", "storage() of a program that has no disk, for all its threads"),
        ("modules/base/src/died.cc", "locale edge system",
         "a broken invariant of ours, or an exception where none may be, ends the process, and says so first"),
        ("modules/base/src/error.cc", "global", "what is known of the exception that raise() threw last, by thread"),
        ("modules/base/src/error_border.cc", "print edge system global",
         "raise() in a build without exceptions ends the process, through the border of its thread"),
    ],
    "The simulation itself": [
        ("modules/base/src/virtual_environment.cc", "print edge",
         "says what is wrong with a test before it ends; storage is the file system where a test gives none"),
        ("modules/base/src/virtual_program.*", "thread lock", "a program's thread, which takes turns with the world"),
    ],
    "What threads share: in a simulation one runs at a time, and none gives up its turn with a lock held": [
        ("modules/base/src/buffer.cc", "lock file system",
         "a pool of buffers, which travel between tasks; asks for huge pages, whose contents are the same"),
        ("modules/base/src/stop.cc", "lock thread",
         "a stop request; its destructor waits only for a callback that runs on another thread"),
        ("modules/base/src/transports.*", "lock", "makes a task's transports once, whoever asks first"),
        ("modules/base/src/task.cc", "global", "freed coroutine frames, kept per thread: memory, no state"),
        ("modules/data/src/stage.*", "lock", "the files of a pipeline: interleave adds some in the background, errors ask for them anywhere"),
        ("modules/data/src/workers.*", "lock",
         "jobs of a stage: a virtual pool runs each to its end inside submit() or, from inside a job, after it, and who "
         "needs a piece that nobody has begun does it itself; so nobody waits while a piece is being worked on"),
        ("modules/monitor/src/progress.cc", "lock", "one line for the tasks of a process"),
        ("modules/monitor/include/shoal/monitor/task_meters.h", "lock", "what a task counts, for the endpoint's thread"),
        ("modules/monitor/src/task_meters.cc", "lock", "the same"),
        ("transport/include/shoal/transport/channel.h", "lock", "a queue of messages between two tasks"),
        ("transport/src/channel.cc", "lock", "the same"),
        ("transport/include/shoal/transport/postbox.h", "lock", "the way to a task that may end first"),
    ],
    "Texts of numbers": [
        ("modules/base/src/format.cc", "locale", "formatted(), in the locale of C"),
    ] + [(path, "locale", "whole numbers alone") for path in (
        "modules/base/src/utc_text.cc", "modules/base/src/utf8.cc",
        "modules/testing/src/disk_connection.cc", "modules/cluster/src/job/identity_lines.cc",
        "modules/cluster/src/state/model_identity.cc", "modules/cli/src/launch/hosts/scripts.cc",
        "modules/monitor/src/event_writer.cc", "transport/src/certificate.cc")],
    "JSON as text": [
        ("modules/json/src/text.cc", "json", "the one place that calls the library's printer and parser"),
        ("modules/estimator/src/evaluate/compiled_model.cc", "thread variable edge",
         "a proof of C++ runs this machine's compiler and what it made, on files of its own; CXX is where users name a compiler"),
    ],
    "The endpoint for monitoring systems: in a simulation nobody asks": [
        ("modules/monitor/src/metrics_endpoint.cc", "clock file network system thread",
         "its thread, its port, descriptors of sockets, and how long strands are silent"),
        ("modules/monitor/src/metrics_session.*", "network", "its connections"),
        ("modules/monitor/src/metrics_tls.*", "network", "TLS on them"),
        ("modules/monitor/src/http_exchange.*", "network", "requests as the library has read them"),
        ("modules/monitor/src/process_meters.cc", "host system", "what the system says of this process"),
    ],
    "Functions of the system that only compute": [
        ("modules/monitor/src/metrics_address.cc", "network", "inet_pton(): reads an address from a text"),
        ("modules/cluster/src/job/cluster_spec.cc", "network", "inet_pton(): reads an address from a text"),
        ("modules/data/src/list_files.cc", "system", "fnmatch(): compares two texts"),
        ("modules/cli/src/plot/curves.cc", "system", "the same"),
        ("modules/graph/src/name_pattern.cc", "system", "regexec(): compares a name with an expression"),
    ],
    "What transports share that talk to the system; a simulation has transport/sim": [
        ("transport/src/stream/*", "network", "timers and the loop of what tcp and shm share"),
        ("transport/src/token.cc", "random", "Token::fresh(): a secret is drawn where no seed can repeat it"),
        ("transport/src/authority_openssl.cc", "locale random", "serial numbers of certificates, and a name in hexadecimal digits"),
    ],
    "The search: it decides by what it is told, as the launcher's policy does": [
        ("modules/search/src/tuner.cc", "system", "numbers of signals"),
        ("modules/search/src/search.cc", "edge", "a call of programs, whose trials run in the process: files, and how long a trial took"),
        ("modules/cli/src/tune/trial_process.cc", "file system", "the lock that a trial's processes share, its log, the link to the best"),
        ("modules/cli/src/tune/running_trial.cc", "thread system", "how processes ended"),
        ("modules/cli/src/tune/search_run.cc", "edge system", "numbers of signals; who holds the folder"),
        ("modules/cli/src/tune/tune_command.cc", "edge", "cores of this machine, and whether it is a task of a launch"),
    ],
    "The launcher: it runs processes, beside which nothing is simulated; what it decides by (policy.*) is told the time": [
        ("modules/cli/src/launch/policy.cc", "system", "numbers and names of signals"),
        ("modules/cli/src/launch/inbox.*", "clock edge thread file network system", "signals as input, clocks, poll()"),
        ("modules/cli/src/launch/descriptor.*", "file system", "pipes"),
        ("modules/cli/src/launch/child_group.*", "thread file host variable edge system",
         "a program in a group of its own, its environment, and PATH"),
        ("modules/cli/src/launch/guard.cc", "thread sleep file network system", "the process that outlives a killed launcher"),
        ("modules/cli/src/launch/ports.cc", "network system", "free ports, and who listens at them"),
        ("modules/cli/src/launch/task_output.cc", "file system", "reads pipes"),
        ("modules/cli/src/launch/launcher.cc", "thread edge system",
         "signals, and processes that it adopts; this process's folder, and variables"),
        ("modules/cli/src/launch/prompt_stream.cc", "file edge system", "writes to the files that it is passed, if they take it now"),
        ("modules/cli/src/launch/screen.cc", "edge", "how large its terminal is, and whether it is this process's"),
        ("modules/cli/src/launch/this_machine.cc", "edge", "the variables that name the user's token"),
        ("modules/cli/src/launch/task_process.cc", "thread system", "how processes ended"),
        ("modules/cli/src/launch/credentials.cc", "edge", "a token's file, for tasks, which may not have it later"),
        ("modules/cli/src/launch/hosts/outbox.cc", "file system", "writes to pipes"),
        ("modules/cli/src/launch/hosts/sessions.cc", "system", "signals"),
        ("modules/cli/src/launch/hosts/session_link.cc", "system", "numbers of signals"),
        ("modules/cli/src/launch/plan.cc", "edge", "whether a variable has a token already"),
        ("modules/cli/src/launch/launch_command.cc", "edge", "cores of this machine, and a name for the logs"),
    ],
    "Edges: where a program begins, looks up what it passes in, and prints": [
        ("modules/cli/src/tool_main.cc", "print file edge system", "the program's streams, and whether people look at them"),
        ("modules/cli/src/text_output.cc", "print", "writes to the file that it is passed"),
        ("modules/cli/src/this_program.cc", "host", "the file that this process runs, which is to be launched"),
        ("modules/estimator/src/program_commands.cc", "global", "commands that are part of the program, set before its main()"),
        ("modules/cli/src/cli.cc", "edge", "files for the commands, and variables that stand for their flags"),
        ("modules/cli/src/doctor_command.cc", "edge file host", "what this process may use, and how much room a disk has"),
        ("modules/cli/src/task_link.cc", "edge", "the environment that asks tasks, and the variables that name their secret"),
        ("modules/cli/src/config_command.cc", "edge", "shows what TF_CONFIG makes of this process"),
        ("modules/cli/src/certificate_commands.cc", "edge", "when certificates begin; reads the CA's key"),
        ("modules/cli/src/keys_command.cc", "edge", "the variables that name a job's token"),
        ("modules/cli/src/status_command.cc", "edge", "asks a task: a connection, and what lets it in"),
        ("modules/cli/src/data/bench.cc", "thread system", "becomes the program whose input is measured"),
        ("modules/cli/src/data/data_command.cc", "edge", "a clock, for the line on a terminal that says how far it is, and a log, whose warnings it prints"),
        ("modules/cli/src/plot/screen.cc", "edge", "how large the terminal is that curves are drawn on"),
        ("modules/cli/src/signals.cc", "edge", "the environment of commands that a signal may interrupt"),
        ("modules/cli/src/new_files.cc", "file system", "new files that only their owner may read"),
        ("modules/estimator/src/run.cc", "print edge", "shoal::run: the task of a process, and its results"),
        ("modules/estimator/src/flags.cc", "print edge", "what is wrong with a command line, or its help; variables that stand for flags"),
        ("modules/estimator/src/evaluate/prediction_text.cc", "print", "writes to the stream that it is passed"),
        ("modules/estimator/src/train/measure_input.cc", "print", "the same"),
        ("modules/estimator/src/flag_values.cc", "edge", "the host of a program's tasks"),
        ("modules/estimator/src/print_error.cc", "print", "what ended a program"),
        ("modules/estimator/src/experiment.cc", "edge", "run_experiment(): a config without a host gets that of the process"),
        ("modules/estimator/src/report_files.cc", "edge", "the reports of a process, after its tasks have ended"),
        ("modules/estimator/src/task_reports.*", "lock", "what the threads of --cluster report"),
        ("modules/columns/src/categorical.cc", "edge", "a vocabulary file, while a program describes its columns"),
        ("modules/columns/src/boundaries.cc", "edge", "boundaries_of(): a pass over data before training begins"),
        ("modules/columns/src/statistics.cc", "edge", "statistics_of(): a pass over data before training begins"),
        ("modules/data/src/dataset.cc", "edge", "elements() and iterate(): a walk of a program that has no environment"),
        ("modules/data/src/record_files.cc", "edge", "TfRecordWriter::create(): a program that writes data has no environment"),
        ("modules/data/src/tar_writer.cc", "edge", "TarWriter::create(): the same"),
        ("modules/data/src/images/channel_statistics.cc", "edge", "channel_statistics(): a look at images before training begins"),
        ("modules/data/src/images/image_folder.cc", "edge", "images_by_class(): a look at a folder before training begins"),
        ("modules/data/src/images/images.cc", "edge", "read_images() without a storage: a function of map() gets no environment"),
        ("modules/data/src/csv_columns.cc", "edge", "csv_columns(): a look at a file before training begins"),
        ("modules/estimator/src/task/process_host.cc", "edge", "the host where a program gives none"),
        ("modules/estimator/src/task/task_network.cc", "edge", "the environment of a task whose host gives none"),
        ("modules/estimator/src/task/meet_others.cc", "thread edge", "a thread on which a task stays to be found"),
        ("modules/estimator/src/cluster_of_threads.cc", "thread edge", "--cluster: tasks as threads of one process"),
        ("modules/estimator/include/shoal/estimator/run_config.h", "edge", "TF_CONFIG, unless one passes a function"),
        ("modules/estimator/include/shoal/estimator/task_host.h", "edge", "hosts measure the machine, unless one says"),
        ("modules/estimator/src/evaluate/exported_model.cc", "edge", "ExportedModel::profile(), for programs without a host"),
        ("modules/estimator/src/evaluate/predictor_pool.*", "lock", "an exported model is used by a server's own threads"),
        ("modules/cluster/src/job/task_config.cc", "variable", "process_getenv(); the rest calls what it is passed"),
        ("modules/monitor/src/terminal.cc", "variable host edge system", "what standard error is"),
        ("backends/src/team.*", "thread clock global host lock",
         "compute threads of a task, and when they leave a core to others; no bits follow from it"),
        ("backends/src/machine_limits.cc", "clock thread lock", "measures the machine: real threads, real time"),
        ("transport/src/owned_file.cc", "clock file network system",
         "a secret's rights and contents, by one descriptor; poll(), since it may be a pipe"),
        ("transport/src/credential.cc", "edge", "find_credential(): a folder of certificates, or a token"),
        ("transport/src/token_sources.cc", "edge", "find_token(): a file, or a variable that was looked up"),
    ],
}


def edge_at(name, code):
    """(position, kind) of the edge functions that are not at home in the file `name`."""
    for function, home in EDGES.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in home.split()):
            continue
        for found in re.finditer(rf"(?<![\w.>])(?:\w+::)*{function}\b", code):
            yield found.start(), "edge"


def uses_in(name, text):
    """(line, kind, what) of everything in the text of one file that KINDS and EDGES name."""
    code = code_of(text)
    seen = set()
    found = list(edge_at(name, code))
    for kind, (_, pattern) in KINDS.items():
        for match in re.finditer(pattern, code):
            if kind == "system" and match.start() in seen:
                continue
            seen.add(match.start())
            found.append((match.start(), kind))
    for position, kind in sorted(found):
        line = code.count("\n", 0, position) + 1
        yield line, kind, re.match(r"[^\n(;{,)]*", code[position:]).group().strip()


def rules(allowed):
    for entries in allowed.values():
        for pattern, kinds, _ in entries:
            yield pattern, kinds.split()


def escapes(root, allowed=None):
    root = pathlib.Path(root)
    allowed = list(rules({**ALLOWED, PLUGINS: list(plugins.permissions(root))} if allowed is None else allowed))
    paths = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in (".h", ".cc")]
    if not paths:
        yield "", 0, f"no sources below {root}"
    needed = set()
    for path in paths:
        name = path.relative_to(root).as_posix()
        mine = [(pattern, kinds) for pattern, kinds in allowed if fnmatch.fnmatch(name, pattern)]
        for line, kind, what in uses_in(name, path.read_text(encoding="utf-8", errors="replace")):
            by = [pattern for pattern, kinds in mine if kind in kinds]
            needed.update((pattern, kind) for pattern in by)
            if not by:
                yield name, line, (f"{what}: {KINDS[kind][0]} ({kind}; tests/architecture/check_escapes.py has who may, "
                                   "and plugins.py where plug-ins say it)")
    for pattern, kinds in allowed:
        for kind in kinds:
            if kind not in KINDS:
                yield pattern, 0, f"{kind} is no kind"
            elif (pattern, kind) not in needed:
                yield pattern, 0, f"may do what it does not ({kind}); take that out of the list"


def print_list(root):
    for group, entries in {**ALLOWED, PLUGINS: list(plugins.permissions(root))}.items():
        print(f"{group}\n")
        for pattern, kinds, reason in entries:
            print(f"  {pattern:<58}  {', '.join(kinds.split()):<36}  {reason}")
        print()


def main(argv):
    arguments = [argument for argument in argv[1:] if argument != "--list"]
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if "--list" in argv:
        print_list(arguments[0])
    found = list(escapes(arguments[0]))
    for name, line, sentence in found:
        print(f"{name}:{line}: {sentence}")
    print(f"{len(found)} escapes from the Environment")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
