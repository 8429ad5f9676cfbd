import './check-node.ts';

// For operators: traces and metrics through the OpenTelemetry API.
export type { Telemetry, TelemetryOptions } from './telemetry/telemetry.ts';
export { telemetry } from './telemetry/telemetry.ts';
