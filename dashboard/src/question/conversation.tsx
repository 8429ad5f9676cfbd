/**
 * The questions of a task in order, each with its answer or a form. A question keeps its position when its state
 * changes, so that input in one form is not lost when another question is answered.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { InputRequest } from '../../../src/model/input.ts';
import { isJsonObject, type JsonObject } from '../../../src/model/json.ts';
import type { Question } from '../../../src/operator/api.ts';
import { JsonTree } from '../content/json-tree.tsx';
import { Icon } from '../parts/icons.tsx';
import { Ago, Moment } from '../parts/time.tsx';
import { fieldsOf } from './fields.ts';
import { QuestionForm } from './form.tsx';
import { JsonQuestion, SamplingView } from './json-question.tsx';
import { LinkQuestion } from './link-question.tsx';
import './question.css';
import { forgetDraft } from './drafts.ts';

export type Answer = (key: string, response: JsonObject) => Promise<void>;

interface ConversationProps {
  readonly taskId: string;
  readonly questions: readonly Question[];
  readonly answer: Answer;
}

const fewTurns = 12;

export function Conversation({ taskId, questions, answer }: ConversationProps) {
  const isWhole = useSignal(false);
  if (questions.length === 0) return null;
  const open = questions.filter(({ state }) => state === 'open').length;
  const hidden = isWhole.value ? 0 : Math.max(0, questions.length - fewTurns);
  return (
    <section class="card conversation" data-open={open > 0} aria-labelledby="conversation-title">
      <header class="part-head">
        <h2 id="conversation-title">{open > 0 ? 'Waiting for an answer' : 'Questions and answers'}</h2>
      </header>
      {hidden > 0 && (
        <button
          type="button"
          class="more"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          Show {hidden} earlier
        </button>
      )}
      <ol class="turns">
        {questions.map((question, i) =>
          i < hidden && question.state !== 'open' ? null : (
            <Turn key={question.key} taskId={taskId} question={question} answer={answer} />
          ),
        )}
      </ol>
    </section>
  );
}

interface TurnProps {
  readonly taskId: string;
  readonly question: Question;
  readonly answer: Answer;
}

function Turn({ taskId, question, answer }: TurnProps) {
  const { key, request, state } = question;
  const wasOpenHere = useSignal(state === 'open');
  const sent = useSignal<JsonObject | undefined>(undefined);
  const isSending = useSignal(false);
  const send = async (response: JsonObject) => {
    isSending.value = true;
    try {
      await answer(key, response);
      sent.value = response;
      forgetDraft(taskId, key);
    } finally {
      isSending.value = false;
    }
  };
  return (
    <li class="turn" data-state={state}>
      <div class="asked">
        <Words request={request} />
        <p class="turn-when">
          Asked <Ago at={question.askedAt} /> <span class="mono">{key}</span>
        </p>
      </div>
      {state !== 'open' ? (
        // The change may arrive before the response to our own request.
        <Settled question={question} wasElsewhere={wasOpenHere.value && !sent.value && !isSending.value} />
      ) : sent.value ? (
        <p class="notice" role="status">
          <Icon name="completed" /> Answer sent. The task continues.
        </p>
      ) : (
        <Open taskId={taskId} questionKey={key} request={request} send={send} />
      )}
    </li>
  );
}

function Words({ request }: { request: InputRequest }): ComponentChildren {
  switch (request.kind) {
    case 'sampling':
      return (
        <>
          <p class="question-text">A request to a model</p>
          <SamplingView params={request.params} />
        </>
      );
    case 'roots':
      return <p class="question-text">Which folders may the tool work in?</p>;
    default:
      return <p class="question-text">{request.message}</p>;
  }
}

interface OpenProps {
  readonly taskId: string;
  readonly questionKey: string;
  readonly request: InputRequest;
  send(response: JsonObject): Promise<void>;
}

function Open({ taskId, questionKey, request, send }: OpenProps): ComponentChildren {
  const shared = { taskId, questionKey, send };
  switch (request.kind) {
    case 'form':
      return <QuestionForm {...shared} schema={request.schema} />;
    case 'url':
      return <LinkQuestion url={request.url} send={send} />;
    default:
      return <JsonQuestion {...shared} request={request} />;
  }
}

const actions: Readonly<Record<string, string>> = {
  accept: 'Accepted',
  decline: 'Declined',
  cancel: 'Dismissed',
};

function Settled({ question, wasElsewhere }: { question: Question; wasElsewhere: boolean }) {
  const { state, settledAt, response } = question;
  const when = settledAt !== undefined && <Moment at={settledAt} />;
  return (
    <div class="answered">
      {wasElsewhere && (
        <p class="notice" role="status">
          <Icon name="warning" />{' '}
          {state === 'answered'
            ? 'Somebody else answered this.'
            : 'This question was withdrawn: an answer is no longer needed.'}
        </p>
      )}
      {state === 'withdrawn' ? (
        <p class="answer-action">Withdrawn {when}</p>
      ) : (
        <>
          <p class="answer-action" data-action={String(response?.action)}>
            {actions[String(response?.action)] ?? 'Answered'} {when}
          </p>
          {response && <Response question={question} response={response} />}
        </>
      )}
    </div>
  );
}

function Response({ question: { request }, response }: { question: Question; response: JsonObject }) {
  const { action, content } = response;
  if (action === 'decline' || action === 'cancel') return null;
  if (request.kind === 'url') return null;
  if (request.kind !== 'form' || !isJsonObject(content))
    return (
      <JsonTree value={content === undefined || action === undefined ? response : content} label="Answer" />
    );
  const labels = new Map(fieldsOf(request.schema).map((field) => [field.name, field]));
  const given = Object.entries(content);
  if (given.length === 0) return null;
  return (
    <dl class="facts">
      {given.map(([name, value]) => {
        const field = labels.get(name);
        const choices = field && 'choices' in field.control ? field.control.choices : [];
        const titleOf = (one: unknown) =>
          choices.find((choice) => choice.value === one)?.title ?? String(one);
        const isSimple = typeof value !== 'object' || (Array.isArray(value) && choices.length > 0);
        return (
          <>
            <dt>{field?.label ?? name}</dt>
            <dd>
              {typeof value === 'boolean' ? (
                value ? (
                  'Yes'
                ) : (
                  'No'
                )
              ) : isSimple && value !== '[redacted]' ? (
                [value].flat().map(titleOf).join(', ')
              ) : (
                <JsonTree value={value} label="Answer" />
              )}
            </dd>
          </>
        );
      })}
    </dl>
  );
}
