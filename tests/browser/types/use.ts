// A program that uses every function and every type. It is compiled, not run: api.test.mjs compares values.
import init, {
  check, dump_check, explain, exhibit, read, sim, simulate,
  type Diagnostic, type DumpReport, type Exhibit, type Log, type Program, type Report, type SimulationOptions,
} from './thunkscope-api.js';

export async function use(file: File): Promise<string> {
  await init();
  const { program, warnings }: { program: Program; warnings: Diagnostic[] } = read(await file.arrayBuffer(), { lenient: true });
  const report: Report = explain(program, { queue: 'priority', max_workers: 4 });
  const options: SimulationOptions = { seed: '7', pending: { one_in: 4 }, faults: [{ path: 'entry', node: 3, kind: 'fails' }] };
  const log: Log = simulate(program, options);
  const shown: Exhibit = exhibit(JSON.stringify(program), { path: 'entry', runs: [options], labels: ['a'] });
  const [from, to, kind]: [number, number, string, string] = shown.edges[0]!;
  const dump: DumpReport = dump_check({ acl: '{}', program: JSON.stringify(program), layout: 'cann' });
  const files: string[] = dump.program?.ops.flatMap((op) => op.files) ?? [];
  const { records } = sim({ format: 'thunkscope.scenario/1' }, { policy: 'drop' });
  const ended: string = sim('{}', { log: true }).report.outcome;
  const verdicts: string[] = check({ scenario: 'cap', fault: ['inexact-cap'] }).checks.map((line) => line.verdict);
  // @ts-expect-error: there is no such queue.
  explain(program, { queue: 'random' });
  // @ts-expect-error: options have no such field.
  simulate(program, { workers: 1 });
  // @ts-expect-error: a number is no program.
  explain(5);
  const starts = log.events.filter((event) => event.kind === 'started').map((event) => event.node);
  return [report.sequences[0]?.headline, warnings.length, files.length, records.missing, ended, verdicts.length, from, to, kind, ...starts].join(' ');
}

export function told(error: unknown): string {
  const { code, hint } = error as Diagnostic;
  return `${code}: ${hint}`;
}
