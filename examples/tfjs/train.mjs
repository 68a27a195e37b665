// A small network trained with model.fit in plain JavaScript; it knows nothing of sweetspot.
//
//   npm install && sweetspot tune -- node train.mjs {batch}
//
// Prints what Keras prints, because tfjs without its native binding has no progress bar.
import * as tf from '@tensorflow/tfjs';

const [batchSize, epochs, sampleCount] = [64, 2, 6000].map((fallback, i) => {
  const value = process.argv[2 + i] === undefined ? fallback : Number(process.argv[2 + i]);
  if (!Number.isInteger(value) || value < 1) {
    console.error('usage: node train.mjs [BATCH] [EPOCHS] [SAMPLES], each a whole number above 0');
    process.exit(2);
  }
  return value;
});

// Classes are patterns plus noise: they can be learnt, and nothing has to be fetched.
function makeDigits(count) {
  return tf.tidy(() => {
    const patterns = tf.randomNormal([10, 196], 0, 1, 'float32', 1);
    const labels = tf.randomUniform([count], 0, 10, 'int32', 2);
    const images = tf.gather(patterns, labels).add(tf.randomNormal([count, 196], 0, 1, 'float32', 3));
    return { images, labels: tf.oneHot(labels, 10) };
  });
}

function makeModel() {
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ inputShape: [196], units: 64, activation: 'relu' }),
      tf.layers.dense({ units: 10, activation: 'softmax' }),
    ],
  });
  model.compile({ optimizer: 'adam', loss: 'categoricalCrossentropy' });
  return model;
}

// Keras 2's bar, 30 characters wide, redrawn in place.
class ProgressBar {
  constructor(steps) {
    this.steps = steps;
  }
  begin() {
    this.startedAt = performance.now();
  }
  show(done, loss) {
    const seconds = (performance.now() - this.startedAt) / 1000;
    const filled = Math.floor((30 * done) / this.steps);
    const bar = done === this.steps ? '='.repeat(30)
      : ('='.repeat(Math.max(0, filled - 1)) + (filled > 0 ? '>' : '')).padEnd(30, '.');
    const each = seconds / done;
    const left = each * (this.steps - done);
    const time = done === this.steps ? `${Math.round(seconds)}s` : `ETA: ${Math.round(left)}s`;
    const step = each < 1e-3 ? `${Math.round(1e6 * each)}us/step` : `${Math.round(1e3 * each)}ms/step`;
    process.stdout.write(`\r${String(done).padStart(String(this.steps).length)}/${this.steps} [${bar}]`
      + ` - ${time} - ${step} - loss: ${loss.toFixed(4)}${done === this.steps ? '\n' : ''}`);
  }
}

const { images, labels } = makeDigits(sampleCount);
const bar = new ProgressBar(Math.ceil(sampleCount / batchSize));
await makeModel().fit(images, labels, {
  batchSize,
  epochs,
  verbose: 0,
  yieldEvery: 'never', // a step is not kept waiting for a browser's next frame
  callbacks: {
    onEpochBegin: async (epoch) => {
      console.log(`Epoch ${epoch + 1}/${epochs}`);
      bar.begin();
    },
    onBatchEnd: async (batch, logs) => bar.show(batch + 1, logs.loss),
  },
});
