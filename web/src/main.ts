import './ui/tokens.css'
import './ui/base.css'
import { mount } from 'svelte'
import App from './app.svelte'
import { startNotifying } from './notify'
import { session } from './state/session.svelte'

mount(App, { target: document.getElementById('app')! })
session.start()
startNotifying()
