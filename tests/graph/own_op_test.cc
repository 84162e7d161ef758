// SPDX-License-Identifier: Apache-2.0
/// What a graph checks of a user's own op and its nodes: names, attributes, versions, what its rules give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "../estimator/own_ops.h"
#include "expect_refused.h"
#include "shoal/graph/graph_json.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

class OwnOp : public ::testing::Test {
 protected:
  OwnOp() {
    for (OpDef& op : testing::own_ops()) value_or_raise(catalogue_.add(std::move(op)));
  }
  /// What the graph says of a squash with these attributes.
  std::string refusal_of(Attributes attributes) {
    try {
      graph_.add("squash", {x_}, std::move(attributes));
      return "accepted";
    } catch (const Exception& exception) {
      return exception.what();
    }
  }
  /// What a catalogue says of this definition.
  std::string sentence_of(OpDef op) {
    const auto added = catalogue_.add(std::move(op));
    return added ? "accepted" : added.error().message();
  }
  OpDef plain(std::string name) {
    return {.name = std::move(name),
            .inputs_min = 1,
            .inputs_max = 1,
            .shape_rule = testing::like_x,
            .kernel = [](const OpCall&) { return Result<void>(); }};
  }

  OpCatalogue catalogue_;
  Graph graph_{RandomKey{0}, &catalogue_};
  Value x_ = graph_.input("x", DType::kFloat32, {3});
};

TEST_F(OwnOp, GetsTheAttributesThatItsNodeSaysNothingOf) {
  const Value plain = graph_.add("squash", {x_})[0];
  EXPECT_EQ(graph_.node(plain.node()).attributes.get_real("slope"), 1.0);
  const Value steep = graph_.add("squash", {x_}, {{"slope", 2}})[0];  // A whole number is a real one here.
  EXPECT_EQ(graph_.node(steep.node()).attributes.get_real("slope"), 2.0);
}

TEST_F(OwnOp, RefusesAttributesThatItDoesNotTake) {
  EXPECT_THAT(refusal_of({{"slpoe", 2.0}}),
              HasSubstr("attribute \"slpoe\" does not belong to this op, which takes: slope"));
  EXPECT_THAT(refusal_of({{"slope", true}}), HasSubstr("attribute \"slope\" has to be a real number, but is a bool"));
  EXPECT_THAT(refusal_of({{"slope", std::string("2")}}), HasSubstr("has to be a real number, but is a text"));
  EXPECT_THAT(refusal_of({{"slope", std::nan("")}}),
              HasSubstr("squash \"squash\": attribute \"slope\" is NaN; give it a number"));
  EXPECT_EQ(refusal_of({{"slope", INFINITY}}), "accepted");
  EXPECT_REFUSED(graph_.add("squash_grad", {x_, x_}, {}, "d"),
                 "squash_grad \"d\": attribute \"slope\" is missing; this op needs it");
}

TEST_F(OwnOp, IsKnownByItsNameOnlyOnce) {
  EXPECT_THAT(sentence_of(plain("relu")), HasSubstr("op \"relu\": Shoal has an op of this name; choose another"));
  EXPECT_THAT(sentence_of(plain("variable")), HasSubstr("Shoal has an op of this name"));
  EXPECT_THAT(sentence_of(plain("squash")), HasSubstr("op \"squash\": two ops of yours have this name; choose another"));
}

TEST_F(OwnOp, DefinesItsAttributesOnce) {
  OpDef twice = plain("twice"), nameless = plain("nameless"), version = plain("version"), nan = plain("nan"),
        old = plain("old");
  twice.attributes = {{"a", 1}, {"a", 2}};
  EXPECT_THAT(sentence_of(twice), HasSubstr("attribute \"a\" occurs twice"));
  nameless.attributes = {{"", 1}};
  EXPECT_THAT(sentence_of(nameless), HasSubstr("an attribute has no name"));
  version.attributes = {{"version", 1}};
  EXPECT_THAT(sentence_of(version), HasSubstr("attribute \"version\" is taken"));
  nan.attributes = {{"a", std::nan("")}};
  EXPECT_THAT(sentence_of(nan), HasSubstr("attribute \"a\" has the default NaN"));
  OpDef product = plain("product"), lookup = plain("lookup"), takes = plain("takes");
  product.product = true;
  EXPECT_THAT(sentence_of(product), HasSubstr("a product or a lookup needs two inputs, but this op may have fewer"));
  lookup.looks_up_rows = [](const Attributes&) { return true; };
  EXPECT_THAT(sentence_of(lookup), HasSubstr("a product or a lookup needs two inputs"));
  takes.rewrites.takes_activation = "relu";
  EXPECT_THAT(sentence_of(takes),
              HasSubstr("attribute \"activation\" is missing: an op that takes an activation has to define it, as a text"));
  old.version = 0;
  EXPECT_THAT(sentence_of(old), HasSubstr("its version has to be at least 1, not 0"));
}

TEST_F(OwnOp, OfAnotherVersionIsAnotherModel) {
  graph_.add("squash", {x_});
  OpCatalogue newer;
  value_or_raise(newer.add(testing::squash(2)));
  Graph other(RandomKey{0}, &newer);
  other.add("squash", {other.input("x", DType::kFloat32, {3})});
  EXPECT_NE(graph_.fingerprint(), other.fingerprint());
  const auto read = graph_from_json(graph_.to_json(), &newer);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(read.error().message(),
              HasSubstr("squash \"squash\": it was made with version 1 of this op, but this program has version 2"));
}

/// What a later version of the program adds to an op has a value for older descriptions.
TEST_F(OwnOp, ReadsDescriptionsThatLackAnAttribute) {
  graph_.add("squash", {x_});
  OpCatalogue newer;
  OpDef op = testing::squash();
  op.attributes.push_back({"offset", 0.5});
  value_or_raise(newer.add(std::move(op)));
  const auto read = value_or_raise(graph_from_json(graph_.to_json(), &newer));
  EXPECT_EQ(read->node(1).attributes.get_real("offset"), 0.5);
}

TEST_F(OwnOp, ThatNobodyGaveIsNamedWithWhatHelps) {
  graph_.add("squash", {x_});
  const auto read = graph_from_json(graph_.to_json());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(read.error().message(),
              HasSubstr("there is no op \"squash\": Shoal has no op of this name; pass an op of your own to "
                        "Estimator::use_ops() or load_exported_model()"));
}

TEST_F(OwnOp, MayOnlyGiveWhatAGraphHolds) {
  OpDef text = plain("text"), negative = plain("negative"), throws = plain("throws"), nothing = plain("nothing");
  text.shape_rule = [](auto, const Attributes&) { return Result(std::vector{ValueType{DType::kString, {3}}}); };
  negative.shape_rule = [](auto, const Attributes&) { return Result(std::vector{ValueType{DType::kFloat32, {Dim(-2)}}}); };
  nothing.shape_rule = [](auto, const Attributes&) { return Result(std::vector<ValueType>()); };
  throws.shape_rule = [](auto, const Attributes&) -> Result<std::vector<ValueType>> { throw std::runtime_error("oh"); };
  for (OpDef op : {text, negative, nothing, throws}) value_or_raise(catalogue_.add(std::move(op)));
  EXPECT_REFUSED(graph_.add("text", {x_}), "text \"text\": the shape rule returned a text, but ops compute with numbers");
  EXPECT_REFUSED(graph_.add("negative", {x_}),
                 "negative \"negative\": the shape rule returned the shape [-2]; shapes have at most 8 dimensions, and no "
                 "negative sizes");
  EXPECT_REFUSED(graph_.add("nothing", {x_}), "nothing \"nothing\": the shape rule returned no output");
  EXPECT_THROW(graph_.add("throws", {x_}), std::exception);
}

TEST_F(OwnOp, WhoseGradientIsOfAnotherTypeOrGraphIsRefused) {
  Graph elsewhere;
  const Value foreign = elsewhere.input("far", DType::kFloat32, {3});
  OpDef integer = plain("integer"), far = plain("far");
  integer.gradient = [](const GradientRequest& request) {
    return std::vector{request.graph.input("ids", DType::kInt64, {3})};
  };
  far.gradient = [foreign](const GradientRequest&) { return std::vector{foreign}; };
  for (OpDef op : {integer, far}) value_or_raise(catalogue_.add(std::move(op)));
  EXPECT_REFUSED(gradients(ops::reduce_sum(graph_.add("integer", {x_})[0]), {x_}),
                 "integer \"integer\": its gradient rule returned int64 [3] for operand 0, which is float32 [3]");
  EXPECT_REFUSED(gradients(ops::reduce_sum(graph_.add("far", {x_})[0]), {x_}),
                 "far \"far\": its gradient rule returned a value of another graph for operand 0");
}

}  // namespace
}  // namespace shoal
