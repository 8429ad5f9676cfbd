import { render } from 'preact';
import './theme.css';
import './parts/parts.css';

function App() {
  return <main class="page">Holdfast</main>;
}

render(<App />, document.getElementById('app')!);
