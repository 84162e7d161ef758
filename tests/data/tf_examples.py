# SPDX-License-Identifier: Apache-2.0
"""tf.Example by python3-protobuf, with the schema of TensorFlow built here: write FILE NAME, or read FILE.

Records are framed by tf_records.py. `write` writes the records of a case; `read` prints each record as a line of JSON.
"""
import json
import sys

import tf_records
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def schema():
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tensorflow", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto

    def message(name, *fields, nested=(), oneof=None):
        made = file.message_type.add(name=name)
        for number, (field, kind, label, type_name) in enumerate(fields, 1):
            one = made.field.add(name=field, number=number, type=kind, label=label)
            if type_name:
                one.type_name = ".tensorflow." + type_name
            if oneof:
                one.oneof_index = 0
        if oneof:
            made.oneof_decl.add(name=oneof)
        return made

    one, many = kinds.LABEL_OPTIONAL, kinds.LABEL_REPEATED
    message("BytesList", ("value", kinds.TYPE_BYTES, many, None))
    message("FloatList", ("value", kinds.TYPE_FLOAT, many, None))
    message("Int64List", ("value", kinds.TYPE_INT64, many, None))
    message("Feature", ("bytes_list", kinds.TYPE_MESSAGE, one, "BytesList"), ("float_list", kinds.TYPE_MESSAGE, one, "FloatList"),
            ("int64_list", kinds.TYPE_MESSAGE, one, "Int64List"), oneof="kind")
    features = message("Features", ("feature", kinds.TYPE_MESSAGE, many, "Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=one)
    entry.field.add(name="value", number=2, type=kinds.TYPE_MESSAGE, label=one, type_name=".tensorflow.Feature")
    message("Example", ("features", kinds.TYPE_MESSAGE, one, "Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("tensorflow.Example"))


Example = schema()


def example(**lists):
    made = Example()
    for name, values in lists.items():
        feature = made.features.feature[name]
        if values and isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        elif values and isinstance(values[0], float):
            feature.float_list.value.extend(values)
        else:
            feature.int64_list.value.extend(values)
    return made.SerializeToString(deterministic=True)


CASES = {
    "plain": [
        example(image=[b"\x00\x01\x02\xfd\xfe\xff"], label=[7], weights=[0.5, -2.25, 1e-45], ids=[1, -1, 2**63 - 1, -2**63], words=[b"a", b"", b"\xff\x00z"]),
        example(image=[b"abcdef"], label=[-3], weights=[1.5, float("inf"), 3.0], ids=[], words=[b"x" * 300]),
    ],
    "sparse": [example(value=[1.5, 2.5], at=[4, 0]), example(other=[1]), example(value=[], at=[])],
}


if __name__ == "__main__":
    command, path, *rest = sys.argv[1:]
    if command == "write":
        tf_records.write(path, CASES[rest[0]])
    else:
        for data in tf_records.read(path):
            lists = {}
            for name, feature in Example.FromString(data).features.feature.items():
                kind = feature.WhichOneof("kind")
                values = getattr(feature, kind).value
                lists[name] = [kind, [value.hex() if isinstance(value, bytes) else value for value in values]]
            print(json.dumps(lists, sort_keys=True))
