/** A small bell, made of two sine waves: no file to load, and nothing a content policy could refuse. */
export function ring(): void {
  try {
    const audio = new AudioContext()
    const start = audio.currentTime
    for (const [tone, delay] of [
      [880, 0],
      [1320, 0.09],
    ] as const) {
      const wave = audio.createOscillator()
      const loudness = audio.createGain()
      wave.frequency.value = tone
      loudness.gain.setValueAtTime(0.0001, start + delay)
      loudness.gain.exponentialRampToValueAtTime(0.12, start + delay + 0.02)
      loudness.gain.exponentialRampToValueAtTime(0.0001, start + delay + 0.7)
      wave.connect(loudness).connect(audio.destination)
      wave.start(start + delay)
      wave.stop(start + delay + 0.75)
    }
    setTimeout(() => void audio.close(), 1500)
  } catch {
    // A browser without sound, or one that was not touched yet, stays silent.
  }
}
