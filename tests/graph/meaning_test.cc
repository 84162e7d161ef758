// SPDX-License-Identifier: Apache-2.0
// What ids and logits stand for: recorded, written down, read again, compared in words.
#include "shoal/graph/meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/graph/text_ids.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

MeaningFact words(const Words& list) { return {.kind = "vocabulary", .lists = {{"words", MeaningList::of(list)}}}; }
MeaningFact hashed(int buckets) { return {.kind = "hash", .values = {{"buckets", std::to_string(buckets)}}}; }

Meaning of(const std::map<std::string, MeaningFact>& facts) {
  Meaning meaning;
  for (const auto& [key, fact] : facts) meaning.add(key, fact);
  return meaning;
}

/// "" if they agree.
std::string whole(const Meaning& recorded, const Meaning& present) {
  return meaning_difference(recorded, present, MeaningScope::kWhole).value_or("");
}
std::string part(const Meaning& recorded, const Meaning& present) {
  return meaning_difference(recorded, present, MeaningScope::kPart).value_or("");
}

Words many(size_t count) {
  Words list;
  for (size_t i = 0; i < count; ++i) list.push_back("word number " + std::to_string(i));
  return list;
}

TEST(Meaning, IsTheSameInAnyOrderOfAdding) {
  Meaning one, two;
  one.add("features/a", hashed(10));
  one.add("features/a", words({"x", "y"}));
  one.add("head", {.kind = "binary_head"});
  two.add("head", {.kind = "binary_head"});
  two.add("features/a", words({"x", "y"}));
  two.add("features/a", hashed(10));
  two.add("features/a", hashed(10));
  EXPECT_EQ(one, two);
  EXPECT_EQ(one.encode(), two.encode());
  EXPECT_EQ(one.hash(), two.hash());
  EXPECT_EQ(one.facts().at("features/a").size(), 2u);
}

TEST(Meaning, IsWrittenInOneLineAndReadAgain) {
  const Meaning meaning = of({{"features/wood", words({"ash", "elm"})}, {"labels", hashed(7)}});
  EXPECT_EQ(meaning.encode(),
            R"({"facts":{"features/wood":[{"kind":"vocabulary","lists":{"words":{"count":2,"hash":")"
            R"(2628989689fe8bab","items":["ash","elm"]}},"values":{}}],"labels":[{"kind":"hash","lists":{},)"
            R"("values":{"buckets":"7"}}]},"version":1})");
  EXPECT_EQ(value_or_raise(Meaning::decode(meaning.encode())), meaning);
  EXPECT_EQ(value_or_raise(Meaning::decode(Meaning().encode())), Meaning());
}

TEST(Meaning, TellsTheFirstWordThatDiffers) {
  const Meaning before = of({{"features/wood", words({"ash", "elm", "fir", "oak"})}});
  EXPECT_EQ(whole(before, before), "");
  EXPECT_EQ(whole(before, of({{"features/wood", words({"ash", "fir", "elm", "oak"})}})),
            "feature \"wood\": vocabulary (4 words: ash, elm, fir, oak) before, vocabulary (4 words: ash, fir, elm, oak) "
            "now; number 1 of the words was \"elm\" and is \"fir\"");
  EXPECT_THAT(whole(before, of({{"features/wood", words({"ash", "elm", "fir", "oak", "yew"})}})),
              HasSubstr("; the first 4 of the words are the same, 4 were there and 5 are"));
  EXPECT_EQ(whole(before, of({{"features/wood", hashed(4)}})),
            "feature \"wood\": vocabulary (4 words: ash, elm, fir, oak) before, hash (buckets 4) now");
}

TEST(Meaning, SentencesAreOneLineWhateverTheWordsAre) {
  const std::string longer(100, 'x');
  const Meaning before = of({{"features/a\nb", words({"\n", "\t\x01", longer})}});
  EXPECT_EQ(whole(before, of({{"features/a\nb", words({"\n", longer, longer})}})),
            R"(feature "a\nb": vocabulary (3 words: \n, \t\x01, )" + longer.substr(60) +
                R"(...) before, vocabulary (3 words: \n, )" + longer.substr(60) + "..., " + longer.substr(60) +
                R"(...) now; number 1 of the words was "\t\x01" and is ")" + longer.substr(60) + "...\"");
  EXPECT_THAT(to_string(words({"ab" + std::string(20, '\xc3') + "z"})), HasSubstr("words: ab"));
  std::string umlauts;
  for (int i = 0; i < 30; ++i) umlauts += "\xc3\xa4";
  EXPECT_THAT(to_string(words({"a" + umlauts})), HasSubstr("words: a" + umlauts.substr(0, 38) + "..."));
}

TEST(Meaning, NamesInputsFirstAndThenWhatElseChanged) {
  const Meaning before = of({{"column/a_embedding", hashed(1)}, {"features/a", hashed(1)}, {"head", hashed(1)}});
  const Meaning after = of({{"column/a_embedding", hashed(2)}, {"features/a", hashed(2)}, {"head", hashed(2)}});
  EXPECT_EQ(whole(before, after),
            "feature \"a\": hash (buckets 1) before, hash (buckets 2) now; also changed: the head, column \"a_embedding\"");
  EXPECT_EQ(whole(of({}), of({{"labels", hashed(1)}})), "the labels: not there before, hash (buckets 1) now");
  EXPECT_EQ(whole(of({{"head/a", hashed(1)}}), of({})), "head \"a\": hash (buckets 1) before, not there now");
}

TEST(Meaning, APartIsComparedInWhatBothHave) {
  Meaning recorded = of({{"features/a", hashed(1)}, {"head", hashed(3)}});
  recorded.add("features/a", words({"x"}));
  EXPECT_EQ(part(recorded, of({{"features/a", words({"x"})}})), "");
  EXPECT_EQ(part(recorded, of({{"features/b", hashed(1)}})), "");
  EXPECT_EQ(part(recorded, of({})), "");
  EXPECT_THAT(part(recorded, of({{"features/a", words({"y"})}})), HasSubstr("feature \"a\": hash (buckets 1) and vocab"));
  EXPECT_THAT(part(recorded, of({{"head", hashed(4)}})), HasSubstr("the head: hash (buckets 3)"));
  EXPECT_NE(whole(recorded, of({{"features/a", words({"x"})}})), "");
  Meaning more = recorded;  // A metric of evaluation by another list.
  more.add("features/a", words({"y"}));
  EXPECT_EQ(part(recorded, more), "");
  EXPECT_THAT(whole(recorded, more), HasSubstr("vocabulary (words: x) before, hash (buckets 1) and vocabulary"));
}

TEST(Meaning, KeepsLongListsByTheirHash) {
  const Words list = many(100000);
  Words turned = list;
  std::swap(turned[99998], turned[99999]);
  Words other = list;
  other[3] = "another";
  const Meaning before = of({{"features/w", words(list)}});
  EXPECT_LT(before.encode().size(), 4000u);
  const Meaning again = value_or_raise(Meaning::decode(before.encode()));
  EXPECT_EQ(whole(again, before), "");
  EXPECT_THAT(whole(again, of({{"features/w", words(turned)}})),
              HasSubstr("of the words are the same, and not all that follow"));
  EXPECT_THAT(whole(again, of({{"features/w", words(other)}})),
              HasSubstr("number 3 of the words was \"word number 3\" and is \"another\""));
  EXPECT_FALSE(MeaningList::of(list).is_whole());
  EXPECT_TRUE(MeaningList::of(many(100)).is_whole());
}

TEST(Meaning, NamesThatAreNoUtf8AreReplaced) {
  const Meaning meaning = of({{"features/caf\xe9", {.kind = "hash", .values = {{"by", "\xff"}}}}});
  EXPECT_EQ(value_or_raise(Meaning::decode(meaning.encode())), meaning);
  EXPECT_EQ(meaning, of({{"features/caf\xe9", {.kind = "hash", .values = {{"by", "\xff"}}}}}));
}

TEST(Meaning, AnUpdateTakesWhatIsOther) {
  Meaning recorded = of({{"features/a", hashed(1)}, {"labels", hashed(2)}});
  recorded.add("features/a", hashed(5));
  EXPECT_EQ(recorded.updated_by(of({{"features/a", hashed(1)}})), recorded);
  const Meaning updated = recorded.updated_by(of({{"features/a", hashed(3)}, {"head", hashed(4)}}));
  EXPECT_EQ(updated, of({{"features/a", hashed(3)}, {"labels", hashed(2)}, {"head", hashed(4)}}));
}

TEST(Meaning, RefusesTextsThatAreNone) {
  const auto sentence = [](const std::string& text) {
    const Result<Meaning> meaning = Meaning::decode(text);
    EXPECT_FALSE(meaning) << text;
    if (meaning) return std::string();
    EXPECT_EQ(meaning.error().kind(), ErrorKind::kDataLoss) << text;
    return meaning.error().message();
  };
  const auto with = [](const std::string& fact) { return R"({"version":1,"facts":{"a":[)" + fact + "]}}"; };
  const auto list = [&with](const std::string& members) {
    return with(R"({"kind":"k","values":{},"lists":{"words":{)" + members + "}}}");
  };
  EXPECT_EQ(sentence(""), "not a JSON object");
  EXPECT_EQ(sentence("[1]"), "not a JSON object");
  EXPECT_EQ(sentence("{}"), "\"version\" is missing");
  EXPECT_THAT(sentence(R"({"version":2,"facts":{}})"),
              HasSubstr("the meaning has version 2, but this build reads version 1"));
  EXPECT_EQ(sentence(R"({"version":1,"facts":[]})"), "\"facts\" must be an object");
  EXPECT_EQ(sentence(R"({"version":1,"facts":{"a":[]}})"), "there are no facts of \"a\"");
  EXPECT_EQ(sentence(with("1")), "an object was expected where \"kind\" is looked for");
  EXPECT_EQ(sentence(with(R"({"kind":"k","values":{"b":1},"lists":{}})")), "\"b\" must be a string");
  EXPECT_EQ(sentence(list(R"("count":-1,"hash":"0000000000000000","items":[])")).substr(0, 41),
            "\"count\" must be a whole number from 0 to ");
  EXPECT_EQ(sentence(list(R"("count":1,"hash":"12","items":[])")), "\"hash\" must be 16 hexadecimal digits");
  EXPECT_EQ(sentence(list(R"("count":1,"hash":"00000000000000FF","items":[])")), "\"hash\" must be 16 hexadecimal digits");
  EXPECT_EQ(sentence(list(R"("count":0,"hash":"0000000000000000","items":["a"])")), "a list has more items than its count");
  EXPECT_EQ(sentence(list(R"("count":1,"hash":"0000000000000000","items":["a"])")),
            "the hash of a list does not fit its items");
  EXPECT_EQ(sentence(std::string(100000, '[')), "not a JSON object");
}

TEST(Meaning, ComparingSaysWhereAndWhatToDo) {
  const Meaning before = of({{"features/a", hashed(1)}}), now = of({{"features/a", hashed(2)}});
  EXPECT_TRUE(compare_meaning(before.encode(), "checkpoint m", before, MeaningScope::kWhole));
  EXPECT_TRUE(compare_meaning("", "checkpoint m", now, MeaningScope::kWhole));  // As older versions wrote it.
  const Result<void> refused = compare_meaning(before.encode(), "checkpoint m", now, MeaningScope::kPart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("checkpoint m: "), HasSubstr("feature \"a\": hash (buckets 1)"),
                    HasSubstr("use another model_dir, or set accept_changed_model (--accept-changed-model)")));
  const Result<void> damaged = compare_meaning("{", "checkpoint m", now, MeaningScope::kPart);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(damaged.error().message(), HasSubstr("checkpoint m: the meaning of the model: "));
}

TEST(Meaning, TextIdsRecordWhatTheyMake) {
  const auto recorded = [](const TextEncoding& encoding) {
    Graph graph;
    text_ids(graph.input("features/t", DType::kString, {Dim::symbol("batch")}), encoding);
    return graph.meaning();
  };
  const auto list = [](Words names) {
    return std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make(std::move(names))));
  };
  const Meaning base = recorded({.vocabulary = list({"a", "b"})});
  // The same ids of the same words, though training refuses what prediction bears.
  EXPECT_EQ(base, recorded({.vocabulary = list({"a", "b"}), .refuse_unknown = true}));
  EXPECT_EQ(recorded({.vocabulary = list({"a", "b"}), .unknown_id = 1}),
            recorded({.vocabulary = list({"a", "b"}), .refuse_unknown = true, .unknown_id = 1}));
  EXPECT_THAT(whole(base, recorded({.vocabulary = list({"b", "a"})})), HasSubstr("feature \"t\": vocabulary"));
  for (const TextEncoding& other : std::vector<TextEncoding>{{.vocabulary = list({"a", "b"}), .buckets = 2},
                                                             {.vocabulary = list({"a", "b"}), .unknown_id = 0},
                                                             {.vocabulary = list({"a", "b"}), .missing = {"?"}},
                                                             {.vocabulary = list({"a", "b"}), .missing_id = 2},
                                                             {.buckets = 2},
                                                             {}}) {
    EXPECT_THAT(whole(base, recorded(other)), Not("")) << other.to_json();
  }
  EXPECT_THAT(whole(recorded({.buckets = 2}), recorded({.buckets = 3})),
              HasSubstr("hash (buckets 2) before, hash (buckets 3) now"));
}

}  // namespace
}  // namespace shoal
