/** Thrown for wrong input: an `Error` named `Diagnostic`, with its fields. */
export interface Diagnostic {
  /** Stable: two letters and three digits, explained in docs/diagnostics.md. */
  code: string;
  severity: 'warning' | 'error';
  /** A JSON path, a byte offset, or a sequence such as `entry/4.body`. */
  path: string;
  /** What was found there; may be empty. */
  value: string;
  expected: string;
  hint: string;
}

/** A whole number; decimal digits above 2^53 - 1. */
export type Wide = number | string;

/** A program in the format `thunkscope.program/1`; schema in docs/program.schema.json. */
export interface Program {
  format: 'thunkscope.program/1';
  name: string;
  sequence: { thunks: Array<{ kind: string; name: string; [field: string]: unknown }> };
  [field: string]: unknown;
}

/** A file's bytes (XLA executable, JAX cache entry, JSON), or a program as text or object. */
export type ProgramSource = Uint8Array | ArrayBuffer | string | Program;

export interface ReadOptions {
  /** What the program is called where the file does not say. */
  name?: string;
  /** Thunks of unknown kinds clash with everything, instead of being an error. */
  lenient?: boolean;
}

export type Queue = 'fifo' | 'lifo' | 'priority';

/** What is left out has XLA's value. */
export interface ExecutorOptions {
  queue?: Queue;
  max_workers?: number;
  split_threshold?: number;
  buffer_threshold?: Wide;
  thunk_threshold?: number;
}

/** Times in ns. */
export interface SimulationOptions {
  executor?: ExecutorOptions;
  mode?: 'decided' | 'concurrent' | 'sequential';
  runner?: boolean;
  pool_threads?: number;
  post_latency?: Wide;
  costs?: { base?: Wide; bytes_per_tick?: Wide; jitter_percent?: number };
  pending?: 'as_declared' | 'never' | 'all' | { one_in: number };
  faults?: Array<{ path: string; node: number; kind: 'fails' | 'never_completes' }>;
  schedule?: 'by_time' | 'adversarial';
  iterations?: number;
  max_trips?: Wide;
  seed?: Wide;
  max_events?: number;
}

/** A report in the format `thunkscope.explain/1`; schema in docs/explain.schema.json. */
export interface Report {
  format: 'thunkscope.explain/1';
  program: string;
  digest: string;
  notes: string[];
  /** Worst first. */
  sequences: Array<{
    path: string;
    verdict: 'empty' | 'sequential' | 'never_split' | 'concurrent';
    headline: string;
    findings: string[];
    advice: string[];
    [field: string]: unknown;
  }>;
  [field: string]: unknown;
}

/** One event; the other fields depend on its kind. Schema in docs/log.schema.json. */
export interface LogEvent {
  t: Wide;
  /** A lane, or 65535: the outside world. */
  actor: number;
  run: number;
  kind: string;
  [field: string]: unknown;
}

export interface Log {
  header: {
    format: 'thunkscope.log/1';
    program: string;
    digest: string;
    options: string;
    seed: string;
    clock: 'ns';
    lanes: number;
    sequences: Array<{ path: string; counters: number[]; sinks: number }>;
  };
  events: LogEvent[];
}

export interface ExhibitOptions {
  /** `entry` unless another sequence is named, as `entry/4.body`. */
  path?: string;
  /** One run for each; without it one for each queue. */
  runs?: SimulationOptions[];
  /** What to call the thunks, by index. */
  labels?: string[];
}

export type Point = [x: number, y: number];

/** Schema in docs/exhibit.schema.json. */
export interface Exhibit {
  format: 'thunkscope.exhibit/1';
  program: { name: string; digest: string; origin: string; release: string };
  sequences: Array<{ path: string; thunks: number; verdict: string; held_back: number }>;
  shown: number;
  thunks: Array<{ kind: string; name: string; label: string; priority: number; uses: string[]; nested: number[] }>;
  edges: Array<
    [from: number, to: number, kind: 'execution' | 'scheduling', reason: 'RAW' | 'WAR' | 'WAW' | 'resource' | 'unknown']
  >;
  picture: { width: number; height: number; node: Point; centres: Point[]; routes: Point[][] };
  /** The events of a run are packed; `simulate` gives them one by one. */
  runs: Array<{ queue: Queue; log: { header: Log['header']; events: number[] } }>;
  verdict: { name: string; headline: string; findings: string[]; advice: string[] };
  opening: number;
  asked: number;
}

/** A dump configuration as texts; what is left out is not set. */
export interface DumpConfiguration {
  /** The ACL document. */
  acl?: string;
  /** Environment variables, `NAME=value` line by line. */
  env?: string;
  /** GE options, `name=value` line by line; `global:` or `graph:` before the name for these scopes. */
  options?: string;
  /** A program in the format `thunkscope.program/1`: then the report decides op by op. */
  program?: string;
  /** Switches, overflows, failures: a scenario in the format `thunkscope.dump-scenario/1`. */
  scenario?: string;
  iterations?: Wide;
  layout?: 'seed' | 'cann';
}

/** A report in the format `thunkscope.dump-check/1`; schema in docs/dump-check.schema.json. */
export interface DumpReport {
  format: 'thunkscope.dump-check/1';
  kinds: Array<'data' | 'overflow' | 'exception'>;
  directory: string | null;
  fields: Array<{ field: string; value: string; source: string; raw: string; shadowed: Array<{ source: string; raw: string }> }>;
  diagnostics: Diagnostic[];
  program: { model: string; ops: Array<{ op: string; at: string; files: string[]; [field: string]: unknown }>; [field: string]: unknown } | null;
  [field: string]: unknown;
}

export interface SimOptions {
  policy?: 'global-freeze' | 'drop' | 'per-lane';
  peer_gate?: 'barrier-first' | 'slot-first';
  no_faults?: boolean;
  faults?: string[];
  seed?: Wide;
  profile?: 'custom' | 'a2a3' | 'a5';
}

/** A report in the format `thunkscope.sim/1`; schema in docs/sim.schema.json. Times in ns. */
export interface SimReport {
  format: 'thunkscope.sim/1';
  policy: string;
  outcome: 'complete' | 'missing' | 'unbalanced';
  records: { written: number; collected: number; missing: number; causes: Record<string, number> };
  lanes: Array<{ blocked_ns: number; stops: number; busy_ns: number; seen_ns: number }>;
  freezes: number;
  makespan_ns: number;
  invariants: Array<{ invariant: string; says: string; judged: number; broken: string | null }>;
  [field: string]: unknown;
}

export interface CheckOptions {
  /** A group of scenarios or one of them; all short groups if left out. */
  scenario?: string;
  fault?: string[];
  memory?: 'sc' | 'ra';
  max_states?: number;
  reduction?: boolean;
}

/** A report in the format `thunkscope.check/1`; schema in docs/check.schema.json. */
export interface CheckReport {
  format: 'thunkscope.check/1';
  checks: Array<{
    name: string;
    verdict: 'clean' | 'broken' | 'not-exhaustive';
    scenarios: number;
    states: number;
    counterexample?: { scenario: string; property: string; what: string; steps: number; log: { header: unknown; events: LogEvent[] } };
    [field: string]: unknown;
  }>;
  [field: string]: unknown;
}

/** A scenario in the format `thunkscope.scenario/1`, as text or object; schema in docs/scenario.schema.json. */
export type ScenarioSource = string | Uint8Array | ArrayBuffer | Record<string, unknown>;

export function sim(scenario: ScenarioSource, options: SimOptions & { log: true }): { report: SimReport; log: { header: unknown; events: LogEvent[] } };
export function sim(scenario: ScenarioSource, options?: SimOptions & { log?: false }): SimReport;
export function check(options?: CheckOptions): CheckReport;
export function dump_check(configuration?: DumpConfiguration): DumpReport;
export function read(file: ProgramSource, options?: ReadOptions): { program: Program; warnings: Diagnostic[] };
export function explain(program: ProgramSource, options?: ExecutorOptions): Report;
export function simulate(program: ProgramSource, options?: SimulationOptions): Log;
export function exhibit(program: ProgramSource, options?: ExhibitOptions): Exhibit;

/** Serves the instruments of the page's Lab: see www/worker.js. Its messages belong to the build. */
export class Engine {
  constructor(post: (message: Uint8Array, bytes?: Uint8Array) => void, pause: () => Promise<void>);
  receive(message: Uint8Array, bytes?: Uint8Array): void;
  free(): void;
}
