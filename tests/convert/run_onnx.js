// SPDX-License-Identifier: Apache-2.0
// Runs ONNX models in onnxruntime-node: node run_onnx.js JOBS.json RESULTS.json. See onnx_runtime.h for the two files.
const fs = require('fs');
const path = require('path');
const ort = require(path.join(process.env.SHOAL_NODE_MODULES, 'onnxruntime-node'));

const kinds = {
  float32: Float32Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array, bool: Uint8Array,
};

function read(tensor) {
  if (tensor.type === 'string') return new ort.Tensor('string', JSON.parse(fs.readFileSync(tensor.file)), tensor.shape);
  const bytes = fs.readFileSync(tensor.file);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return new ort.Tensor(tensor.type, new kinds[tensor.type](buffer), tensor.shape);
}

function write(name, tensor, file) {
  if (tensor.type === 'string') {
    fs.writeFileSync(file, JSON.stringify(tensor.data));
  } else {
    fs.writeFileSync(file, new Uint8Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength));
  }
  return {name, type: tensor.type, shape: tensor.dims, file};
}

async function main() {
  const jobs = JSON.parse(fs.readFileSync(process.argv[2]));
  const results = [];
  for (const job of jobs) {
    try {
      const session = await ort.InferenceSession.create(job.model, {logSeverityLevel: 3, intraOpNumThreads: 1});
      const feeds = {};
      for (const input of job.inputs) {
        if (session.inputNames.includes(input.name)) feeds[input.name] = read(input);
      }
      const outputs = await session.run(feeds);
      results.push({outputs: session.outputNames.map((name, i) => write(name, outputs[name], `${job.out}.${i}`))});
    } catch (error) {
      results.push({error: String(error)});
    }
  }
  fs.writeFileSync(process.argv[3], JSON.stringify(results));
}
main();
