import './check-node.ts';

// For operators: traces and metrics on the API of OpenTelemetry.
export type { Telemetry, TelemetryOptions } from './telemetry/telemetry.ts';
export { telemetry } from './telemetry/telemetry.ts';
