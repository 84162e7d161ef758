# SPDX-License-Identifier: Apache-2.0
"""That check_escapes.py finds each way past the Environment, and lets through what only looks like one."""
import pathlib
import tempfile
import unittest

import check_escapes


class CheckEscapes(unittest.TestCase):
    def kinds(self, text, name="modules/nn/src/a.cc"):
        return sorted({kind for _, kind, _ in check_escapes.uses_in(name, text)})

    def assert_kind(self, kind, *texts):
        """Inside a function each of these texts is of this kind alone."""
        for text in texts:
            self.assertEqual([kind], self.kinds("  " + text), text)

    def assert_none(self, *texts):
        for text in texts:
            self.assertEqual([], self.kinds("  " + text), text)

    def found(self, files, allowed):
        """The sentences about a tree of these files (path to text)."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                target = pathlib.Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            return [f"{name}:{line}: {sentence}" for name, line, sentence in check_escapes.escapes(folder, allowed)]

    def test_finds_clocks(self):
        self.assert_kind("clock", "std::chrono::steady_clock::now();", "Clock::now();", "file_clock::now()",
                         "time(nullptr)", "std::time(&x)", "::time(x)", "std::clock()",
                         "clock_gettime(CLOCK_MONOTONIC, &t)", "gettimeofday(&t, 0)", "localtime_r(&t, &tm)",
                         "#include <sys/time.h>", "__rdtsc()")
        self.assert_none("env.now();", "SteadyTime now() const;", "world.time();", "VirtualWorld& time();",
                         "std::chrono::system_clock::time_point t;", "hh_mm_ss clock(time - day);", "env->wall_now()",
                         "#include <chrono>", "SteadyClock::duration d;", "run_time(x)", "::gmtime_r(&t, &tm);")

    def test_finds_printers_and_parsers_of_json(self):
        self.assert_kind("json", "json.dump();", "Json(text).dump(-1, ' ')", "value.dump (2)", "Json::parse(text)",
                         "nlohmann::json::parse(text, nullptr, false)", "PrintedJson::parse(text)")
        self.assert_none("json::text_of(value);", "json::parse_value(text);", "Uri::parse(text);", "dump_graph(x);", "void dump(Out& out);")

    def test_finds_numbers_of_a_locale(self):
        self.assert_kind("locale", "std::snprintf(t, sizeof t, f, x);", "sprintf(t, f, x)", "vsnprintf(t, n, f, a)",
                         "std::sscanf(t, f, &x)", "strtod(t, &e)", "std::strtof(t, &e)", "atof(t)", "std::stod(t)",
                         "std::setlocale(LC_ALL, name)")
        self.assert_none("formatted(f, x);", "number_from<double>(t);", "std::stoi(t)", "stodgy(t)", "uselocale(plain())")

    def test_finds_sleeps(self):
        self.assert_kind("sleep", "std::this_thread::sleep_for(x);", "this_thread::sleep_until(x)", "usleep(1)",
                         "::sleep(1)", "nanosleep(&t, nullptr)")
        self.assert_none("co_await env.sleep_for(x);", "void sleep(Lock& lock);", "loop.sleep(x)", "sleep_until(when)")

    def test_finds_threads_and_processes(self):
        self.assert_kind("thread", "std::thread t(f);", "std::jthread t;", "std::async(f)", "std::this_thread::get_id()",
                         "pthread_create(&t, 0, f, 0)", "t.detach();", "#include <thread>", "#include <future>", "fork()",
                         "execvp(a, b)", "std::system(x)", "popen(a, b)", "waitpid(1, 0, 0)")
        self.assert_none("int threads = 1;", "pool.threads()", "event.wait(x);", "Task<void> wait(int x);",
                         "Tensor clone() const;", "compute_thread.run();")

    def test_finds_locks(self):
        self.assert_kind("lock", "std::mutex m;", "std::shared_mutex m;", "std::lock_guard lock(m);",
                         "std::unique_lock l(m);", "std::condition_variable c;", "std::condition_variable_any c;",
                         "std::binary_semaphore s;", "std::counting_semaphore<1> s;", "std::latch l(1);",
                         "std::barrier b(1);", "std::once_flag f;",
                         "std::promise<int> p;", "#include <mutex>", "#include <semaphore>", "#  include <barrier>")
        self.assert_none("StorageLock lock;", "std::atomic<int> a;", "std::promise_type x;", "storage.lock(path, note)")

    def test_finds_mutable_globals(self):
        self.assert_kind("global", "thread_local int x;", "static thread_local int x;", "static Source source;",
                         "static std::map<int, int> cache = {};", "static int calls;")
        self.assert_none("static const Table table{", "static constexpr int kMax = 3;", "int count = 0;",
                         "static Token fresh();", "static inline const int kMax = 3;",
                         "static Result<int> parse(A a = {});")
        for text in ("int count = 0;", "std::atomic<bool> watched{false};", "inline std::string last;"):
            self.assertEqual(["global"], self.kinds("\n" + text), text)
        for text in ("int f();", "int f(int x = 0);", "inline constexpr int kMax = 3;", "bool operator==(A a);",
                     "bool operator==(A a) = default;", "const std::string kName = x;", "constexpr int kMax = 3;"):
            self.assertEqual([], self.kinds("\n" + text), text)

    def test_finds_environment_variables(self):
        self.assert_kind("variable", "std::getenv(x)", "getenv(x)", "secure_getenv(x)", "setenv(a, b, 1)",
                         "char** p = environ;")
        self.assert_none("const GetEnv& getenv,", "read(getenv, x)", "environment(x)")

    def test_finds_files(self):
        self.assert_kind("file", "std::ifstream in(x);", "std::ofstream out;", "std::fstream f;", "fopen(a, b)",
                         "std::fopen(a, b)", "::open(p, O_RDONLY)", "::close(f)", "::fstat(f, &s)", "mkdtemp(x)",
                         "mkstemp(x)", "::mkdir(p, m)", "std::filesystem::exists(p)",
                         "std::filesystem::temp_directory_path()", "filesystem::create_directories(p)",
                         "namespace fs = std::filesystem;", "#include <fstream>",
                         "#include <fcntl.h>", "#include <sys/stat.h>", "std::rename(a, b)")
        self.assert_none("std::filesystem::path(p).filename()", "#include <filesystem>", "env.storage().open(p)",
                         "EventWriter::open(env, p)", "Result<int> Folder::remove(x)", "std::remove(a, b, c)", "close();",
                         "std::istringstream in;")

    def test_finds_randomness(self):
        self.assert_kind("random", "std::random_device d;", "std::mt19937_64 g;", "rand()", "srand(1)", "std::rand()",
                         "getentropy(p, n)", "::getrandom(p, n, 0)", "RAND_bytes(p, n)", "#include <random>",
                         "arc4random()")
        self.assert_none("RandomKey key;", "random(x)", "env.entropy()", "#include \"shoal/base/random.h\"", "operand(x)")

    def test_finds_what_a_process_knows(self):
        self.assert_kind("host", "gethostname(p, n)", "::getpid()", "gettid()", "::sysconf(_SC_PAGESIZE)", "geteuid()",
                         "sched_getaffinity(0, n, &c)", "isatty(2)", "::ioctl(f, x)", "dlsym(h, n)", "#include <dlfcn.h>")
        self.assertEqual(["host", "thread"], self.kinds("std::thread::hardware_concurrency()"))
        self.assert_none("env.process().host_name", "process.process_id", "shuffled_schedule(x)")

    def test_finds_the_network(self):
        self.assert_kind("network", "boost::asio::io_context c;", "::socket(AF_INET, 0, 0)", "::poll(f, 1, 0)",
                         "#include <sys/socket.h>", "#include <netinet/in.h>", "::connect(f, a, n)")
        self.assert_none("transport.connect(x)", "listen(x)", "Server::bind(x)")

    def test_finds_printing(self):
        self.assert_kind("print", "std::cout << x;", "std::cerr << x;", "std::printf(x);", "std::fprintf(stderr, x);",
                         "fputs(x, f)", "fwrite(x, 1, n, f)", "f = stdout;", "#include <iostream>")
        self.assert_none("env.log().info(x)", "context.out << x", "#include <ostream>")

    def test_finds_other_calls_of_the_system(self):
        self.assert_kind("system", "::prctl(x)", "return ::kill(p, 9);", "#include <unistd.h>", "#include <signal.h>",
                         "#include <sys/prctl.h>", "std::abort();", "std::exit(1)")
        self.assert_none("::new (p) T;", "::operator delete(p);", "shoal::find(x)", "Task<T>::start(x)",
                         "#include <sys/types.h>")

    def test_finds_what_is_for_programs(self):
        self.assert_kind("edge", "read_process_info()", "shoal::read_cgroup_limits()", "make_file_storage()", "stderr_sink()",
                         "make_production_environment({})", "f(cluster::process_getenv)", "measure_machine_limits(1)",
                         "transport::find_credential(a, b)")
        self.assert_none("env.process_info()", "config.stderr_sink")
        self.assertEqual([], self.kinds("ProcessInfo read_process_info();", "modules/base/include/shoal/base/process_info.h"))

    def test_every_edge_is_where_the_list_says(self):
        root = pathlib.Path(__file__).parents[2]
        for function, home in check_escapes.EDGES.items():
            for pattern in home.split():
                texts = [path.read_text() for path in root.glob(pattern.replace("/*/", "/**/"))]
                self.assertTrue(any(function + "(" in text for text in texts), f"{function} in {pattern}")

    def test_reads_code_only(self):
        self.assert_none("// std::mutex, rand()", "/* ::open(x)\n std::cout */", 'f("std::getenv(x) time(0)");',
                         'R"(std::thread t;)"')

    def test_names_file_line_and_remedy(self):
        found = self.found({"transport/sim/a.cc": "int f();\n\nauto t = std::chrono::steady_clock::now();\n"}, {})
        self.assertEqual(len(found), 1, found)
        self.assertIn("transport/sim/a.cc:3: ", found[0])
        self.assertIn("clock::now", found[0])
        self.assertIn("Environment::now()", found[0])

    def test_lets_plugins_do_what_their_own_folder_says_and_no_more(self):
        files = {"transport/loop/CMakeLists.txt": "# may: hub.* lock: who listens\nshoal_plugin(transport loop)\n",
                 "transport/loop/hub.cc": "std::mutex m;\n", "transport/loop/link.cc": "void f();\n"}
        of_loop = lambda found: [line for line in found if "transport/loop" in line]
        self.assertEqual([], of_loop(self.found(files, None)))
        self.assertEqual(1, len(of_loop(self.found(files | {"transport/loop/link.cc": "std::mutex m;\n"}, None))))
        self.assertEqual(1, len(of_loop(self.found(files | {"transport/loop/hub.cc": "void f();\n"}, None))))  # Needless by now.

    def test_lets_files_of_the_list_do_what_it_says_and_no_more(self):
        files = {"modules/base/src/pool.cc": "std::mutex m;\n", "modules/base/src/pool.h": "std::thread t;\nrand();\n"}
        found = self.found(files, {"a group": [("modules/base/src/pool.*", "lock thread", "why")]})
        self.assertEqual(len(found), 1, found)
        self.assertIn("pool.h:2: rand", found[0])

    def test_finds_entries_that_nobody_needs(self):
        files = {"modules/base/src/pool.cc": "std::mutex m;\n"}
        for pattern, kinds in (("modules/base/src/pool.cc", "lock clock"), ("modules/base/src/gone.cc", "clock")):
            found = self.found(files, {"a": [("modules/base/src/pool.cc", "lock", "why"), (pattern, kinds, "why")]})
            self.assertEqual(len(found), 1, found)
            self.assertIn("may do what it does not (clock)", found[0])
        self.assertIn("no kind", self.found(files, {"a": [("modules/base/src/pool.cc", "lock luck", "why")]})[0])

    def test_every_entry_has_a_reason_and_stands_once(self):
        entries = [entry for group in check_escapes.ALLOWED.values() for entry in group]
        for pattern, kinds, reason in entries:
            self.assertTrue(kinds and reason, pattern)
        patterns = [pattern for pattern, _, _ in entries]
        self.assertEqual(len(patterns), len(set(patterns)))

    def test_looks_at_modules_backends_and_transports(self):
        tops = ("modules", "backends", "transport", "tests", "bench", "examples")
        files = {f"{top}/a/b.cc": "rand();\n" for top in tops}
        self.assertEqual(3, len(self.found(files, {})))
        self.assertIn("no sources", self.found({"README.md": ""}, {})[0])


if __name__ == "__main__":
    unittest.main()
