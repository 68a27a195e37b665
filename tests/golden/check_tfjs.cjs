// A second opinion on the golden values: TF.js, which is Keras itself in another language, runs the
// same model files on the same formula. It checks padding, pooling and batch normalisation as Keras
// means them, which PyTorch cannot.  npm install @tensorflow/tfjs@4; node check_tfjs.cjs [model …]
const fs = require('fs');
const path = require('path');
const tf = require('@tensorflow/tfjs');

function words(tensor, size) {
  const h = new Uint32Array(size);
  for (let i = 0; i < size; ++i) {
    let x = (Math.imul(i, 2654435761) + tensor * 40503 + 12345) >>> 0;
    x = Math.imul((x ^ (x >>> 15)) >>> 0, 2246822519) >>> 0;
    h[i] = (x ^ (x >>> 13)) >>> 0;
  }
  return h;
}
const uniform = (tensor, size) => Array.from(words(tensor, size), (h) => (h >>> 8) * 2 ** -24);
const count = (shape) => shape.reduce((a, b) => a * b, 1);

// TF.js reads Keras 2's spelling of the input's shape and of the dtype.
function readable(json) {
  const layers = json.config.layers ?? json.config;
  for (const layer of layers) {
    if (layer.config.batch_shape) layer.config.batch_input_shape = layer.config.batch_shape;
    if (typeof layer.config.dtype === 'object') layer.config.dtype = 'float32';
    delete layer.config.quantization_config;
  }
  return json;
}

async function check(file) {
  const golden = JSON.parse(fs.readFileSync(file));
  const own = path.join(__dirname, 'models', `${golden.model}.json`);
  const zoo = path.join(__dirname, '../../src/model/zoo', `${golden.model}.json`);
  const json = readable(JSON.parse(fs.readFileSync(fs.existsSync(own) ? own : zoo)));
  const layers = json.config.layers ?? json.config;
  if (layers.some((l) => l.config.center === false || l.config.scale === false)) {
    console.log(`${golden.model.padEnd(16)} skipped: TF.js cannot normalise without gamma and beta`);
    return true;
  }
  // The gradient of TF.js' average pooling divides by the whole window where Keras' forward pass,
  // and its own, do not: with "same" padding only what lies after the pooling is compared.
  const wrong = layers.findLastIndex((l) => l.class_name === 'AveragePooling2D' && l.config.padding === 'same');
  const before = new Set(layers.slice(0, wrong + 1).map((l) => l.config.name));
  const model = await tf.models.modelFromJSON(json);
  const variables = model.trainableWeights;
  golden.parameters.forEach((p, k) => {
    const values = uniform(p.tensor, count(p.shape)).map((u) => p.offset + (u - 0.5) * 2 * p.scale);
    variables[k].write(tf.tensor(values, p.shape));
  });
  const shape = [golden.batch, ...model.inputs[0].shape.slice(1)];
  const x = tf.tensor(uniform(golden.inputs_tensor, count(shape)), shape);
  const outputs = model.outputs[0].shape[1];
  const entropy = golden.loss_kind !== 'mean_squared_error';
  const expected = entropy
    ? tf.oneHot(tf.tensor1d(Array.from({ length: golden.batch }, (_, i) => (i * 7 + 3) % outputs), 'int32'), outputs)
    : tf.tensor(uniform(1000, golden.batch * outputs).map((u) => u - 0.5), [golden.batch, outputs]);
  for (const layer of model.layers) if (layer.getClassName() === 'Dropout') layer.rate = 0;
  const loss = () => {
    const y = model.apply(x, { training: true });
    return entropy ? tf.neg(tf.mean(tf.sum(tf.mul(expected, tf.log(y)), 1)))
                   : tf.mean(tf.square(tf.sub(y, expected)));
  };
  const { value, grads } = tf.variableGrads(loss, variables.map((v) => v.read()));
  let worst = Math.abs(value.dataSync()[0] - golden.loss) / golden.loss;
  golden.parameters.forEach((p, k) => {
    if (before.has(p.name.split('/')[0])) return;
    const g = grads[variables[k].val.name].dataSync();
    p.gradient.samples.forEach((s, n) => {
      worst = Math.max(worst, Math.abs(g[n * p.gradient.stride] - s) / p.gradient.max_abs);
    });
  });
  console.log(`${golden.model.padEnd(16)} ${worst < 1e-4 ? 'agrees' : 'DIFFERS'} within ${worst.toExponential(1)}`);
  return worst < 1e-4;
}

(async () => {
  await tf.setBackend('cpu');
  const asked = process.argv.slice(2);
  let agree = true;
  for (const name of fs.readdirSync(__dirname).filter((f) => f.endsWith('.json') && f !== 'optimizers.json')) {
    if (asked.length && !asked.includes(path.basename(name, '.json'))) continue;
    agree = (await check(path.join(__dirname, name))) && agree;
  }
  process.exitCode = agree ? 0 : 1;
})();
