// SPDX-License-Identifier: Apache-2.0
// Implements `shoal data vocabulary FILE... --column NAME`.
#include <algorithm>
#include <limits>

#include "data/data_commands.h"
#include "data/text_summary.h"
#include "json_out.h"
#include "new_files.h"
#include "shoal/arguments/command.h"
#include "shoal/base/nearest_text.h"
#include "shoal/base/utf8.h"

namespace shoal::cli {
namespace {

struct VocabularyArguments : DataArguments {
  std::string column;
  int64_t size = INT64_MAX;
  int64_t count_min = 1;
  int64_t most = 1'000'000;
  bool splits = false;
  std::string output;
};

using WordCount = std::pair<std::string, int64_t>;

class Words {
 public:
  explicit Words(const VocabularyArguments& arguments) : arguments_(arguments) {}

  Result<void> add(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) {
      if (cell.name != arguments_.column) {
        if (known_.size() < kKnownMax && std::ranges::find(known_, cell.name) == known_.end()) known_.push_back(cell.name);
        continue;
      }
      found_ = true;
      if (cell.kind == Cell::Kind::kMissing) continue;
      if (cell.tensor) {
        return invalid_argument(
            "--column " + cell.name + " is " + cell.type +
            ": a vocabulary is of texts, or of numbers of a text file; whole numbers can be ids as they are");
      }
      for (const std::string& text : cell.texts) SHOAL_TRY_VOID(add_text(text));
    }
    return {};
  }

  Result<std::vector<WordCount>> ordered() {
    if (!found_ && known_.empty()) return invalid_argument("there are no values: no file has a record");
    if (!found_) {
      std::string sentence = arguments_.column.empty() ? std::string("--column is needed: values have names here")
                                                       : "--column " + arguments_.column + ": no record has it";
      std::string listed;
      for (const std::string& name : known_) listed += (listed.empty() ? "; there are " : ", ") + shown(name);
      return invalid_argument(sentence + did_you_mean(arguments_.column, known_) + listed);
    }
    constexpr uint64_t kAll = std::numeric_limits<size_t>::max();
    return most_frequent(counts_, size_t(std::min(uint64_t(arguments_.size), kAll)), arguments_.count_min);
  }
  size_t distinct() const { return counts_.size(); }
  int64_t count() const { return count_; }

 private:
  static constexpr size_t kKnownMax = 40;
  static constexpr uint64_t kBytesMax = uint64_t(256) << 20;

  Result<void> add_text(std::string_view text) {
    if (!arguments_.splits) return add_word(text);
    constexpr std::string_view kBlanks = " \t\r\n\v\f";
    for (size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;
         begin = text.find_first_not_of(kBlanks, begin)) {
      const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
      SHOAL_TRY_VOID(add_word(text.substr(begin, end - begin)));
      begin = end;
    }
    return {};
  }

  Result<void> add_word(std::string_view word) {
    if (word.empty()) return {};  // A feature column treats an empty text as missing.
    ++count_;
    word_ = word;
    if (const auto at = counts_.find(word_); at != counts_.end()) {
      ++at->second;
      return {};
    }
    SHOAL_TRY_VOID(check_utf8(word_, "a word of the vocabulary", kConvertToUtf8));
    if (word_.find('\n') != std::string::npos || word_.ends_with('\r')) {
      return invalid_argument("the text " + shown(word_) +
                              " has a line end in it, and a vocabulary is a file of lines; --words splits texts at blanks");
    }
    if (int64_t(counts_.size()) >= arguments_.most || bytes_ + word_.size() > kBytesMax) {
      return invalid_argument(
          "there are more than " + std::to_string(counts_.size()) +
          " different words, so that counting them takes much memory; raise --most (up to 256 MiB of words), or use "
          "categorical_by_hash(), which needs no vocabulary");
    }
    bytes_ += word_.size();
    counts_.emplace(word_, 1);
    return {};
  }

  const VocabularyArguments& arguments_;
  TextCounts counts_;
  std::vector<std::string> known_;  // Names of fields other than --column, for errors.
  std::string word_;
  uint64_t bytes_ = 0;
  int64_t count_ = 0;
  bool found_ = false;
};

Result<int> make_vocabulary(Context& context, const VocabularyArguments& arguments) {
  Words words(arguments);
  SHOAL_TRY_VOID(for_each_record(context, arguments, arguments.read, {},
                                 [&](const std::vector<Cell>& cells, int64_t) { return words.add(cells); }));
  SHOAL_TRY(const std::vector<WordCount> ordered, words.ordered());
  std::string lines;
  for (const WordCount& word : ordered) lines += word.first + '\n';
  if (!arguments.output.empty()) SHOAL_TRY_VOID(write_new_files({{.path = arguments.output, .text = lines}}));
  if (!arguments.json) {
    if (arguments.output.empty()) context.out << lines;
    return 0;
  }
  Json listed = Json::array();
  for (const WordCount& word : ordered) listed.push_back(Json{{"word", word.first}, {"count", word.second}});
  print(context, Json{{"column", arguments.column},
                      {"count", words.count()},
                      {"distinct", words.distinct()},
                      {"vocabulary", std::move(listed)}});
  return 0;
}

}  // namespace

void add_vocabulary(arguments::Command& data, Action& selected) {
  arguments::Command& command =
      data.add_command("vocabulary",
                       "The texts of one field, by falling count and then by their bytes, one in a "
                       "line, as categorical_by_vocabulary_file() reads them");
  const auto arguments = std::make_shared<VocabularyArguments>();
  add_data_arguments(command, *arguments);
  command.add("--column", arguments->column, "The field; not needed for lines of text");
  command.add("--size", arguments->size, "Only so many texts, the most frequent ones").check(arguments::check_positive);
  command.add("--min-count", arguments->count_min, "Only texts that occur at least so many times")
      .check(arguments::check_positive)
      .shows_default();
  command.add("--most", arguments->most, "How many different texts may be counted; more are an error")
      .check(arguments::check_positive)
      .shows_default();
  command.add_switch("--words", arguments->splits, "Split texts at blanks, and count the words");
  command.add("-o,--output", arguments->output, "A new file to write them to, instead of standard output").path("FILE");
  command.on_selected([&selected, arguments] {
    selected = [arguments](Context& context) { return make_vocabulary(context, *arguments); };
  });
}

}  // namespace shoal::cli
